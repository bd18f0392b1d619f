"""Every way in which a wording may not be used, and that good ones pass."""


from __future__ import annotations

import pytest

from tasks.latex.guard import numbers, problems, tidied
from tasks.latex.masks import Segment

TEXT = "We use crops of 32⟦1⟧32 pixels with the loss ⟦2⟧ and gain 5\\% over the baseline in all of the settings that we try."


def segment(text: str = TEXT, masks: tuple[str, ...] = ("$\\times$", "$L$"), encoding: str = "utf-8") -> Segment:
    return Segment("m.tex#1", "m.tex", 0, len(text), text, masks, "", encoding=encoding)


def words(new_text: str, **options: str) -> list[str]:
    return [problem.word for problem in problems(segment(**options), new_text)]


@pytest.mark.parametrize(
    "new_text, word",
    [
        ("", "empty"),
        ("⟦1⟧ ⟦2⟧", "empty"),
        (TEXT.replace("⟦1⟧", "×"), "masks"),
        (TEXT.replace("32⟦1⟧32", "256⟦1⟧256"), "numbers"),
        (TEXT.replace("⟦1⟧", "⟦2⟧", 1).replace("loss ⟦2⟧", "loss ⟦1⟧"), "masks"),
        (TEXT + " ⟦1⟧", "masks"),
        ("Keep ⟦1⟧ unchanged. " + TEXT, "masks"),
        (TEXT.replace("⟦2⟧", "<M2>"), "masks"),
        (TEXT.replace("⟦2⟧", "⟦3⟧"), "masks"),
        (TEXT.replace("5\\%", "5%"), "special"),
        (TEXT + " It costs half & more.", "special"),
        (TEXT + " See item # here.", "special"),
        (TEXT + " The a_b thing.", "special"),
        (TEXT + " So x^y holds {here}.", "special"),
        (TEXT.replace("crops", "\\emph{crops}"), "new_command"),
        (TEXT + " As \\cite{x} shows.", "new_command"),
        ("As Figure~\\ref{fig:wins} shows, " + TEXT, "new_command"),
        ("[b] " + TEXT, "new_command"),
        (TEXT + " \\", "new_command"),
        (TEXT.replace("5\\%", "5"), "numbers"),
        (TEXT.replace("5\\%", "6\\%"), "numbers"),
        (TEXT + " This holds for 7 of them.", "numbers"),
        (TEXT + " (Smith et al., 2020)", "numbers"),
        (TEXT + "\n\nMore of it.", "paragraph_break"),
        ("We use 32⟦1⟧32 and ⟦2⟧, 5\\%.", "too_short"),
        (TEXT + " and so on" * 30, "too_long"),
        ("```latex\n" + TEXT + "\n```", "code_fence"),
        ("Here is the rewritten section: " + TEXT, "chatter"),
        ("Sure, " + TEXT, "chatter"),
        (TEXT + " All masks are kept.", "chatter"),
        (TEXT.replace("loss", "损失"), "new_character"),
        (
            "Wir verwenden Ausschnitte mit 32⟦1⟧32 Pixeln sowie den Verlust ⟦2⟧ und gewinnen damit 5\\% gegenüber unserer Grundlage.",
            "other_language",
        ),
    ],
)
def test_bad_wordings(new_text: str, word: str) -> None:
    found = problems(segment(), new_text)
    assert word in [problem.word for problem in found]
    assert all(problem.sentence.endswith(".") for problem in found)


@pytest.mark.parametrize(
    "new_text",
    [
        TEXT,
        "Crops of 32⟦1⟧32 pixels are used together with the loss ⟦2⟧; the gain is 5\\% over the baseline in every one of the settings.",
        TEXT.replace("try", "try \\& test"),
        TEXT.replace("gain", "gain—at last—"),
    ],
)
def test_good_wordings(new_text: str) -> None:
    assert problems(segment(), new_text) == []


def test_characters_that_the_files_encoding_lacks() -> None:
    assert words(TEXT.replace("gain", "gain—at last—"), encoding="latin-1") == ["new_character"]
    assert words(TEXT.replace("gain", "gain é"), encoding="latin-1") == []


def test_tidied_takes_a_fence_and_typographic_quotes_away() -> None:
    assert tidied("```latex\n“It’s” — fine…\n```\n") == "``It's'' --- fine..."
    assert tidied("Here is: ```x```") == "Here is: ```x```"


def test_numbers_are_a_multiset_with_their_per_cent_signs() -> None:
    assert numbers("5 and 5\\% and 5 % of 3.14, or 1,000⟦7⟧") == {"5": 1, "5%": 2, "3.14": 1, "1,000": 1}


def test_bounds_are_a_parameter() -> None:
    longer = TEXT + " and more words follow here now" * 6
    assert [p.word for p in problems(segment(), longer)] == ["too_long"]
    assert problems(segment(), longer, bounds=(0.5, 4.0)) == []
