"""What models cost, as LiteLLM's list of models says it (its file is described in make_catalogue.py).

The list gives US dollars for a token. What can't be told from the tokens of a call is left out: a price for each
request, for thoughts, for a unit of a provider's own. Nothing is folded into patterns: a price is known or it is not.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from config.models import Rates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from config.models import ModelCatalogue

DEAREST = 1_000
"""Dollars for a million tokens above which the list is taken for mistaken."""

_STEP = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_BARE = re.compile(r"[a-z]+[^a-z/]*\d[^/]*|[^/]*[^a-z/][^/]*")
"""A model's name without vendors; one word alone could be anybody's."""

Prices = dict[str, tuple[Rates, ...]]


def read_prices(path: Path, kinds: tuple[str, ...]) -> Prices:
    """The prices of models of these kinds by their names in lower case; of names that differ in case only the last."""
    listed: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    found = {name.lower(): _rates(entry) for name, entry in listed.items() if entry.get("mode") in kinds}
    return {name: steps for name, steps in found.items() if steps}


def make_prices(source: Prices, vendors: Mapping[str, str]) -> Prices:
    """Of the prices those that somebody can be shown: the makers' own, and what known vendors ask where it differs."""
    bare = {name: steps for name, steps in source.items() if _BARE.fullmatch(name)}
    known = set(vendors.values())
    elsewhere = {
        name: steps
        for name, steps in source.items()
        if name.partition("/")[0] in known and "/" in name and bare.get(name.rpartition("/")[2]) != steps
    }
    return dict(sorted((bare | elsewhere).items()))


def wrong_prices(catalogue: ModelCatalogue, source: Prices) -> list[str]:
    """The models to which `catalogue` gives another price than the source does: makers' own and known vendors'."""
    hosts = {vendor: host for host, vendor in catalogue.vendors.items()}
    wrong = []
    for name, steps in source.items():
        vendor, slash, rest = name.partition("/")
        if not slash and name in catalogue.prices:
            found = catalogue.price(name)
        elif slash and vendor in hosts:
            found = catalogue.price(rest, hosts[vendor])
        else:
            continue
        if found is None or found.steps != steps:
            wrong.append(name)
    return wrong


def price_lines(prices: Prices) -> str:
    """The part of models.json that holds them, a line for each model."""
    lines = (f"    {json.dumps(name)}: [{', '.join(map(_line, steps))}]" for name, steps in prices.items())
    return '  "prices": {\n' + ",\n".join(lines) + "\n  },\n"


def _line(rates: Rates) -> str:
    said = {"above": rates.above or None, "input": rates.input, "cached": rates.cached, "output": rates.output}
    return json.dumps({name: value for name, value in said.items() if value is not None})


def _rates(entry: dict[str, Any]) -> tuple[Rates, ...]:
    """The steps of an entry; none where tokens alone don't tell what a call costs."""
    thoughts = entry.get("output_cost_per_reasoning_token")
    if entry.get("input_cost_per_request") or thoughts not in (None, entry.get("output_cost_per_token")):
        return ()
    steps = list(_tiers(entry["tiered_pricing"]) if entry.get("tiered_pricing") else _steps(entry))
    usable = all(step is not None and 0 < step.input + step.output <= DEAREST for step in steps)
    return tuple(step for step in steps if step is not None) if usable else ()


def _steps(entry: dict[str, Any]) -> Iterator[Rates | None]:
    yield _read(entry, "", 0)
    for thousands in sorted(int(found[1]) for key in entry if (found := _STEP.fullmatch(key))):
        yield _read(entry, f"_above_{thousands}k_tokens", thousands * 1000)


def _tiers(tiers: list[dict[str, Any]]) -> Iterator[Rates | None]:
    for tier in sorted(tiers, key=lambda tier: tier["range"][0]):
        yield _read(tier, "", int(tier["range"][0]))


def _read(entry: dict[str, Any], suffix: str, above: int) -> Rates | None:
    asked, given = (_dollars(entry.get(f"{kind}_cost_per_token{suffix}")) for kind in ("input", "output"))
    if asked is None or given is None:
        return None
    return Rates(asked, given, _dollars(entry.get(f"cache_read_input_token_cost{suffix}")), above)


def _dollars(per_token: object) -> float | None:
    """For a million tokens; None where the source has none, or none that can be meant."""
    usable = isinstance(per_token, int | float) and not isinstance(per_token, bool) and per_token >= 0
    return round(float(per_token) * 1_000_000, 6) if usable else None  # type: ignore[arg-type]  # it is a number
