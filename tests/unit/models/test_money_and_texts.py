"""What calls cost, what a budget allows, and that prompt texts neither fill the memory nor are fetched twice."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import StoreDamaged
from storage.keys import content_hash
from tasks.models.budget import Budget, BudgetGone
from tasks.models.endpoints import EndpointSpec, Price
from tasks.models.outcomes import Usage
from tasks.models.prices import cost_usd
from tasks.models.texts import Texts
from tests.fakes.clock import run_virtually

OPENAI = EndpointSpec(base_url="https://api.openai.com/v1")
MOCK = EndpointSpec(base_url="http://127.0.0.1:8900/v1")


def test_listed_models_have_a_price_and_cached_tokens_cost_less():
    plain = cost_usd(OPENAI, "gpt-5-mini", Usage(1000, 100))
    cached = cost_usd(OPENAI, "gpt-5-mini", Usage(1000, 100, cached=900))
    assert 0 < cached < plain < 0.01


@pytest.mark.parametrize(
    ("endpoint", "model", "usage"),
    [
        (OPENAI, "a model nobody lists", Usage(10, 10)),
        (MOCK, "gpt-5-mini", Usage(10, 10)),
        (OPENAI, "gpt-5-mini", Usage(None, 10)),
        (OPENAI, "gpt-5-mini", Usage(10, None)),
    ],
)
def test_an_unknown_price_is_none_and_never_nothing(endpoint, model, usage):
    assert cost_usd(endpoint, model, usage) is None


def test_what_runs_in_this_process_is_known_to_cost_nothing():
    assert cost_usd(EndpointSpec(kind="phantom"), "p", Usage(10, 10)) == 0.0
    assert cost_usd(EndpointSpec(kind="local"), "p", Usage(None, None)) == 0.0


def test_an_endpoints_own_price_goes_first():
    price = Price(input=2.0, output=10.0, cached_input=1.0)
    endpoint = OPENAI.model_copy(update={"price": price})
    assert cost_usd(endpoint, "gpt-5-mini", Usage(1_000_000, 100_000, cached=500_000)) == pytest.approx(2.5)


def test_more_cached_tokens_than_tokens_make_no_negative_price():
    endpoint = MOCK.model_copy(update={"price": Price(input=2.0, output=1.0, cached_input=0.0)})
    assert cost_usd(endpoint, "m", Usage(10, 0, cached=50)) == 0.0


calls = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(0, 3)), max_size=40)


@given(calls, st.integers(0, 3000))
def test_a_run_ends_above_its_limit_by_no_more_than_its_estimates_were_off(wanted, limit):
    budget, under_way, error = Budget(tokens=limit), [], 0
    for expected, real, finish in wanted:
        try:
            under_way.append((budget.reserve(None, expected), real))
            error += max(real - expected, 0)
        except BudgetGone:
            pass
        for reservation, cost in under_way[:finish]:
            budget.settle(reservation, None, cost)
        del under_way[:finish]
    for reservation, cost in under_way:
        budget.settle(reservation, None, cost)
    assert budget.spent_tokens <= limit + error


def test_threads_do_not_spend_the_same_dollar_twice():
    budget = Budget(usd=100.0)
    paid = []

    def spend() -> None:
        while True:
            try:
                reservation = budget.reserve(1.0, 1)
            except BudgetGone:
                return
            budget.settle(reservation, 1.0, 1)
            paid.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paid) == 100 and budget.spent_usd == 100.0


def test_calls_of_unknown_price_are_counted_as_such():
    budget = Budget(usd=1.0)
    budget.settle(budget.reserve(None, 10), None, 12)
    budget.settle(budget.reserve(None, 10), 0.0, 0)
    assert (budget.unpriced_calls, budget.spent_usd, budget.spent_tokens) == (1, 0.0, 12)
    with pytest.raises(BudgetGone, match="dollars"):
        budget.check(1.5, 0)


class Shelf:
    """Stands for the store: counts what is fetched."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = {content_hash(text): text for text in texts}
        self.fetched: list[list[str]] = []

    def get_texts(self, names: list[str]) -> dict[str, str]:
        self.fetched.append(list(names))
        missing = [name for name in names if name not in self.texts]
        if missing:
            raise StoreDamaged(f"{missing} are not there")
        return {name: self.texts[name] for name in names}


def test_those_who_ask_together_share_one_fetch_and_later_ones_none():
    shelf = Shelf([f"text {i}" for i in range(50)])

    async def go() -> None:
        texts = Texts(shelf)
        found = await asyncio.gather(*(texts.get(list(shelf.texts)[: i + 1]) for i in range(50)))
        assert [len(one) for one in found] == list(range(1, 51))
        assert await texts.get(shelf.texts) == shelf.texts

    run_virtually(go())
    assert len(shelf.fetched) == 1


def test_the_least_used_texts_go_when_the_room_is_full():
    shelf = Shelf([str(i) * 1000 for i in range(10)])
    names = list(shelf.texts)

    async def go() -> None:
        texts = Texts(shelf, kept_chars=3000)
        for name in names:
            await texts.get([names[0]])
            await texts.get([name])
        shelf.fetched.clear()
        await texts.get([names[0]])
        await texts.get([names[-1]])
        assert not shelf.fetched
        await texts.get([names[4]])
        assert shelf.fetched == [[names[4]]]

    run_virtually(go())


def test_a_fetch_that_fails_fails_for_its_askers_only():
    shelf = Shelf(["here"])

    async def go() -> None:
        texts = Texts(shelf)
        with pytest.raises(StoreDamaged):
            await texts.get(["gone"])
        assert await texts.get(shelf.texts) == shelf.texts

    run_virtually(go())


def test_an_asker_that_is_cancelled_takes_nothing_from_the_others():
    shelf = Shelf(["here"])

    async def go() -> None:
        texts = Texts(shelf)
        first, second = (asyncio.create_task(texts.get(shelf.texts)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == shelf.texts

    run_virtually(go())
