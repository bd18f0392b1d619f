"""What a call costs in dollars, by the price list that genai-prices carries; no look-up leaves this machine.

Here belongs money for one call. A price that is not known is None, never 0. What runs in this process (phantoms, the
embedded model) costs 0 because it is known to.
"""

from __future__ import annotations

from functools import lru_cache

from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.data_snapshot import get_snapshot

from tasks.models.endpoints import EndpointSpec
from tasks.models.outcomes import Usage

BATCH_SHARE = 0.5
"""What a batch costs of the listed price."""


@lru_cache(maxsize=4096)
def _listed(url: str, model: str) -> bool:
    """Whether the price list knows the model at that address; the address is never guessed from the name."""
    try:
        get_snapshot().find_provider_model(model, None, None, url)
    except LookupError:
        return False
    return True


def cost_usd(endpoint: EndpointSpec, model: str, usage: Usage) -> float | None:
    """The price of one call in dollars.

    Args:
        endpoint: where it was asked; its own ``price`` goes before the list.
        model: the model's name as it was asked for.
        usage: tokens as the endpoint counted them.

    Returns:
        None when the price of the model or the number of tokens is not known.
    """
    if endpoint.kind != "openai":
        return 0.0
    if usage.input is None or usage.output is None:
        return None
    cached = min(usage.cached or 0, usage.input)
    price = endpoint.price
    if price is not None:
        for_cached = price.input if price.cached_input is None else price.cached_input
        paid = (usage.input - cached) * price.input + cached * for_cached + usage.output * price.output
        return paid / 1e6
    url = endpoint.identity
    if not _listed(url, model):
        return None
    priced = PricedUsage(input_tokens=usage.input, output_tokens=usage.output, cache_read_tokens=cached)
    listed = float(calc_price(priced, model, provider_api_url=url).total_price)
    return listed * BATCH_SHARE if endpoint.batch else listed
