"""The notation of rules: every token does what its documentation says."""

from __future__ import annotations

import pytest

from tasks.rewrite.rules.engine import Dice, fire, substitute
from tasks.rewrite.rules.notation import BadRule, read_rule
from tasks.rewrite.rules.table import Table, known_openers, load_table, named_words, tables_hash

WORDS = {"method": ("approach", "method")}


def _apply(line: str, text: str) -> str:
    rule = read_rule(line, WORDS, number=1)
    index = {first: (rule,) for first in (*rule.firsts, *(first.capitalize() for first in rule.firsts))}
    return substitute(text, fire(Table("test", 1.01, index, ()), text, Dice(1, "test")))


@pytest.mark.parametrize(("line", "before", "after"), [
    ("our @method -> our novel {2}", "Here our approach wins.", "Here our novel approach wins."),
    ("our @method -> our novel {2}", "Our method wins.", "Our novel method wins."),
    ("our @method -> our novel {2}", "Our\n  method wins.", "Our novel\n  method wins."),
    ("our @method -> our novel {2}", "Our\n\nmethod wins.", "Our\n\nmethod wins."),
    ("our @method -> our novel {2}", "in your method", "in your method"),
    ("@method|rule -> novel {1}", "an approach", "a novel approach"),
    ("simple -> uncomplicated", "a simple thing", "an uncomplicated thing"),
    ("<a simple -> plain", "a simple, too simple thing", "a simple, too plain thing"),
    ("<<too simple -> plain", "a simple, too simple thing", "a simple, too plain thing"),
    ("use !of -> employ", "the use of, we use it", "the use of, we employ it"),
    ("about +# -> some", "about 5 and about it, about ⟦1⟧, about~⟦2⟧", "some 5 and about it, some ⟦1⟧, some~⟦2⟧"),
    ("where # is -> wherein {2} denotes", "where ⟦1⟧ is x, where y is", "wherein ⟦1⟧ denotes x, where y is"),
    ("we ?also|then show -> we {2} prove", "We also show, we show.", "We also prove, we prove."),
    ("however, -> still,", "However, it is; however it is", "Still, it is; however it is"),
    ("^. so -> hence", "So it is. And so it is. So be it.", "Hence it is. And so it is. Hence be it."),
    ("^, so -> hence", "It is, so it is so", "It is, hence it is so"),
    ("the * were run -> we ran the {2}", "The small first tests were run.", "We ran the small first tests."),
    ("the * were run -> we ran the {2}", "The tests that failed were run.", "The tests that failed were run."),
    ("tests were carried_out -> we ran tests", "Tests were carried\nout.", "We ran\ntests."),
    ("<*ly larger -> much larger", "clearly larger, larger", "clearly larger, much larger"),
    ("<# larger -> much larger", "2⟦1⟧ larger, 3 larger, larger", "2⟦1⟧ larger, 3 larger, much larger"),
])
def test_a_rule_says_what_is_written(line: str, before: str, after: str) -> None:
    assert _apply(line, before) == after


@pytest.mark.parametrize("line", ["no arrow", "@unknown x -> y", "<a !b -> c"])
def test_a_wrong_rule_is_refused(line: str) -> None:
    with pytest.raises(BadRule):
        read_rule(line, WORDS, number=1)


def test_every_packaged_table_can_be_read() -> None:
    names = ["novelty_stance", "scope_framing", "evidence_framing", "contribution_salience", "technical_register",
             "linguistic_complexity", "feedback_guided", "null_paraphrase"]
    for name in names:
        table = load_table(name)
        assert table.index, name
        assert bool(table.openers) is (name != "null_paraphrase")
    assert named_words()["method"]
    assert tables_hash().startswith("sha256:")
    assert known_openers().match("Importantly, the sky is blue.")
