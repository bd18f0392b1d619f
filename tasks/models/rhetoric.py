"""What a text's prose sounds like, as numbers: rates of rhetorical markers, one family for each single condition.

Here belong the measurement and the lexicons. They are broad on purpose and know no rewriter: phantoms react to these
numbers, and tests measure with them whether a rewrite went in its condition's direction. How a rewrite is made does not
belong here, nor does any judgement of quality.

A lexicon entry is a word, a stem with ``*`` ("generaliz*"), or a phrase of several words. No entry is in two families.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Final

NOVELTY = """
novel novelty new newly original originality innovat* pioneer* groundbreaking ground-breaking unprecedented
breakthrough* unexplored uncharted overlooked underexplored unseen fresh freshly rethink* reimagin* revisit*
revolution* transformative trailblaz* seminal disruptive departure depart* unconventional unlike hitherto heretofore
never-before first-of-its-kind state-of-the-art cutting-edge inaugural untapped paradigm-shifting game-changing
reconceiv* reconceptuali* distinctive the_first for_the_first_time first_time never_before to_our_knowledge
to_the_best_of_our_knowledge paradigm_shift shift_in_perspective new_perspective no_prior no_previous no_existing
prior_work_has_not has_not_been has_never_been have_never_been not_been_studied goes_beyond go_beyond going_beyond
in_contrast_to_prior in_contrast_to_existing unlike_prior unlike_previous unlike_existing fundamentally_different
conceptually_new open_a_new opens_a_new opening_a_new introduce_a introduces_a long-standing longstanding
previously_unknown previously_unexplored breaks_with break_with
"""
SCOPE = """
general generally generaliz* generalis* generality universal* broad broader broadly widely wide-ranging far-reaching
pervasive ubiquit* across diverse diversity domain-agnostic domain-general task-agnostic model-agnostic agnostic
applicable applicability arbitrary any every virtually all-purpose general-purpose scalable scalability heterogeneous
varied manifold real-world cross-domain transferab* overarching all-encompassing encompass* extensible versatile
versatility worldwide community-wide field-wide discipline* foundational unifying wide_range broad_range wide_variety
broad_class wide_class large_class broad_spectrum wide_spectrum whole_range range_of_settings variety_of
beyond_the_setting beyond_this_setting beyond_the_specific at_scale in_general in_practice regardless_of
irrespective_of many_other other_domains other_settings other_fields and_beyond broader_impact broader_implications
the_entire the_whole the_field the_community not_limited_to far_beyond
"""
EVIDENCE = """
significant significantly substantial substantially considerable considerably marked markedly dramatic dramatically
consistent consistently extensive extensively comprehensive comprehensively thorough thoroughly robust robustly
robustness strong strongly stronger compelling compellingly convincing convincingly conclusive conclusively decisive
decisively unambiguous* unequivocal* undeniabl* overwhelming* clear clearly striking strikingly remarkable remarkably
impressive impressively demonstrate demonstrates demonstrated demonstrating confirm confirms confirmed confirming
validate validates validated establish establishes established establishing corroborat* substantiat* outperform*
surpass* exceed* superior superiority excel* statistically quantitative quantitatively measurable measurably reliable
reliably precise precisely systematic systematically large-scale rigorous_evaluation sizeable sizable pronounced
notable_gain* definitive* by_a_large_margin large_margin wide_margin clear_margin in_every_case in_all_cases
without_exception as_much_as strong_evidence clear_evidence ample_evidence empirical_evidence body_of_evidence
the_evidence quantitative_evidence consistent_gains substantial_gains beyond_doubt every_setting leave_no_doubt
leaves_no_doubt hard_evidence a_full
"""
CONTRIBUTION = """
contribution contributions contribute contributes contributing contributed firstly secondly thirdly fourthly lastly
importantly crucially critically notably key core central pivotal principal primary foremost chief salient takeaway
takeaways highlight* emphasi* underscore* advance advances advancing advancement* enable enables enabling deliver
delivers delivering deliverable* milestone* impact impactful valuable insight insights offer offers offering paves
unlocks unlock tangible actionable cornerstone essential vital pivot headline our_contributions our_contribution
main_contribution main_contributions key_contribution key_contributions contributions_are in_summary to_summarize
to_summarise in_short in_sum three_contributions four_contributions we_make_the_following as_follows pave_the_way
this_work_provides this_paper_provides we_provide main_result main_results key_finding key_findings key_insight
key_idea main_finding main_findings what_this_gives the_central_result
"""
REGISTER = """
formal formally formalism formaliz* formalis* formulation formulate formulated rigor rigorous rigorously rigour
principled theoretic* theoretical theoretically framework frameworks paradigm paradigms denote denotes denoted
denoting thereof therein herein hereafter whence whereby wherein whereupon hence thus namely viz resp respectively
parameteri* parametri* instantiat* instantiation axiomatic* admissible canonical canonically operator operators
operational* functional objective optimality optimal asymptotic* invariant invariance equivariant* manifold-valued
latent stochastic deterministic homogeneous regime regimes regulari* estimator estimand posterior inductive
variational hypothesis-driven well-defined well-posed ill-posed analytic* corollary lemma proposition characterise*
characterize* characterization mechanism mechanistic mechanistically procedure* protocol with_respect_to
without_loss_of_generality if_and_only_if such_that let_us let_denote is_defined_as are_defined_as defined_as
in_the_sense in_the_limit under_the_assumption under_mild_assumptions it_follows_that it_holds_that subject_to
as_a_function_of in_terms_of given_by inductive_bias we_define we_formalize we_formalise we_denote
"""
COMPLEXITY = """
utiliz* utilis* facilitat* elucidat* ascertain* endeavor* endeavour* commenc* terminat* necessitat* ameliorat*
exacerbat* delineat* expedit* promulgat* engender* effectuat* constitut* aforementioned aforesaid notwithstanding
nonetheless nevertheless furthermore moreover additionally consequently subsequently accordingly correspondingly
concomitant* commensurate* multifaceted multitud* plethora myriad intricat* intricac* nuanced sophisticat* convoluted
inherent* intrinsic* ostensibl* predominantl* predicat* albeit insofar inasmuch vis-à-vis juxtapos* dichotom*
conceptuali* contextuali* problemati* epistemic* ontolog* methodolog* heterogeneity interdependen* interplay underpin*
undergird* subsum* exemplif* encapsulat* manifest* materiali* attain* procure* possess* exhibit* evinc* elicit*
leverag* substantive* paramount quintessential* indispensable imperative requisite prerequisite* thereupon henceforth
whilst amidst ramification* implication* considerations comprehend* comprehension approximately numerous in_order_to
due_to_the_fact for_the_purpose_of with_regard_to in_the_context_of in_light_of by_virtue_of by_means_of
in_accordance_with in_conjunction_with as_a_consequence in_the_event_that it_is_worth_noting it_should_be_noted
to_the_extent_that a_multitude_of on_the_basis_of the_fact_that in_such_a_manner in_such_a_way insofar_as inasmuch_as
"""
HEDGES = """
may might could perhaps possibly potentially seem seems appear appears suggest suggests suggested suggesting modest
modestly slight slightly somewhat limited preliminary tentative tentatively incremental incrementally partial
partially likely roughly sometimes occasionally presumably arguably cautious cautiously initial minor marginal
marginally small narrow narrowly to_some_extent to_some_degree in_some_cases in_this_setting in_our_setting we_believe
we_suspect we_caution not_necessarily builds_on build_on building_on follows_prior variant_of
"""

LEXICONS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(entry.replace("_", " ") for entry in words.split())
    for name, words in {"novelty": NOVELTY, "scope": SCOPE, "evidence": EVIDENCE, "contribution": CONTRIBUTION,
                        "register": REGISTER, "complexity": COMPLEXITY, "hedges": HEDGES}.items()
}
"""Marker families by name; ``hedges`` is the counterweight that understating rewrites add."""
CONDITION_FEATURE: Final[dict[str, str]] = {
    "novelty_stance": "novelty", "scope_framing": "scope", "evidence_framing": "evidence",
    "contribution_salience": "contribution", "technical_register": "register", "linguistic_complexity": "complexity",
}
"""The feature that each single condition should raise."""
RHETORIC: Final[tuple[str, ...]] = tuple(CONDITION_FEATURE.values())
FEATURES: Final[tuple[str, ...]] = (*LEXICONS, "words", "mean_sentence_words", "mean_word_length")

LONG_WORD = 14
"""Words of at least this many letters count as complex whatever they are."""

_FOLDS = {"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st", "\u00ad": "", "\u200b": "",
          "‐": "-", "‑": "-", "’": "'"}
_BROKEN_WORD = re.compile(r"(?<=[a-z])-[ \t]*\r?\n[ \t]*(?=[a-z])")
# Two letters or more, or "a": what a PDF leaves of formulas is mostly single letters.
_TOKEN = re.compile(r"[a-zà-ÿ]{2,}(?:-[a-zà-ÿ]{2,})*|\ba\b")
# Initials and the usual abbreviations end no sentence.
_SENTENCE_END = re.compile(
    r"[.!?](?<![ (.][A-Za-z]\.)(?<!al\.)(?<!Fig\.)(?<!Eq\.)(?<!Sec\.)(?<!vs\.)[\"')\]]*\s+(?=[A-Z])"
)


def _split_lexicons() -> tuple[dict[str, str], dict[str, str], list[tuple[str, tuple[str, ...], str]]]:
    exact: dict[str, str] = {}
    stems: dict[str, str] = {}
    phrases: list[tuple[str, tuple[str, ...], str]] = []
    for family, entries in LEXICONS.items():
        for entry in entries:
            if " " in entry:
                phrases.append((f" {entry} ", tuple(entry.split()), family))
            elif entry.endswith("*"):
                stems[entry[:-1]] = family
            else:
                exact[entry] = family
    return exact, stems, phrases


_EXACT, _STEMS, _PHRASES = _split_lexicons()
_STEM_LENGTHS = sorted({len(stem) for stem in _STEMS}, reverse=True)


@lru_cache(maxsize=200_000)
def family_of(word: str) -> str | None:
    """The marker family of one lower-case word, or None. The longest stem wins; long words are complex."""
    if word in _EXACT:
        return _EXACT[word]
    for length in _STEM_LENGTHS:
        if length <= len(word) and word[:length] in _STEMS:
            return _STEMS[word[:length]]
    return "complexity" if len(word) >= LONG_WORD and "-" not in word else None


def _folded(text: str) -> str:
    """The text with ligatures and typographic hyphens as plain letters; one scan each beats ``translate`` by far."""
    if text.isascii():
        return text
    for mark, plain in _FOLDS.items():
        text = text.replace(mark, plain)
    return text


def features(text: str) -> dict[str, float]:
    """Measure the rhetoric of a text.

    Args:
        text: prose, or what was extracted from a PDF (ligatures and words broken at line ends are mended).

    Returns:
        By name in ``FEATURES``: markers per 100 words for each family (a phrase counts as one marker beside the words
        in it), ``words``, ``mean_sentence_words``, ``mean_word_length`` (letters). All zero for a text without words.
    """
    folded = _BROKEN_WORD.sub("", _folded(text))
    tokens = _TOKEN.findall(folded.lower())
    if not tokens:
        return dict.fromkeys(FEATURES, 0.0)
    counts = Counter(tokens)
    found = dict.fromkeys(LEXICONS, 0)
    for word, times in counts.items():
        family = family_of(word)
        if family is not None:
            found[family] += times
    line = f" {' '.join(tokens)} "
    for phrase, words, family in _PHRASES:
        if all(word in counts for word in words):
            found[family] += line.count(phrase)
    total = len(tokens)
    sentences = 1 + sum(1 for _ in _SENTENCE_END.finditer(folded))
    letters = sum(len(word) * times for word, times in counts.items())
    rates = {family: 100.0 * number / total for family, number in found.items()}
    shape = {"words": float(total), "mean_sentence_words": total / sentences, "mean_word_length": letters / total}
    return rates | shape
