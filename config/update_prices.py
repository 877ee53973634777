"""Generates `model_prices.tsv` from genai-prices, a development dependency.

    python -m config.update_prices

genai-prices is maintained by Pydantic under the MIT licence. The bot reads the list, since importing the package would
take more time and memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from config.prices import FREE, Price, Rates, format_name, format_rates, generate_spellings

if TYPE_CHECKING:
    from genai_prices.types import MatchLogic, ModelInfo, ModelPrice, Provider

LIST_FILE = Path(__file__).with_name("model_prices.tsv")
MAKERS = (
    "openai", "anthropic", "google", "deepseek", "mistral", "moonshotai", "x-ai", "minimax", "zai", "cohere",
    "perplexity", "meta",
)  # fmt: skip
"""Providers of their own models. Their prices are the default for unknown providers."""
RESELLERS = (
    "openrouter", "azure", "groq", "cerebras", "together", "fireworks", "novita", "zhipuai", "baseten", "ovhcloud",
    "arcee",
)  # fmt: skip
_NOT_CHAT = ("embed", "image", "audio", "tts", "whisper", "transcribe", "realtime", "moderation", "ocr", "rerank")
_NOT_SERVED = {"openai": "gpt-oss", "google": "claude"}
"""Prefixes of models that are listed for a provider but not served by its OpenAI-compatible endpoint."""
_HOURS = 24
_HEAD = """\
# Prices and context windows of hosted models. Generated on {date} from genai-prices {version} by
# `python -m config.update_prices`; don't edit it. genai-prices: MIT licence, copyright Pydantic Services Inc.
# Columns: name, provider (* made it), context window in tokens, then US dollars per million tokens as
# "above:input/output/cached" for prompts of more tokens than "above". Where a price depends on the hour, the highest.
"""


def make_list(moment: datetime) -> str:
    """Return the text of the list, with the prices that are valid at `moment`."""
    from genai_prices.data import providers

    by_id = {provider.id: provider for provider in providers}
    rows = [row for name in (*MAKERS, *RESELLERS) for row in _format_provider_rows(by_id[name], moment)]
    head = _HEAD.format(date=moment.date().isoformat(), version=version("genai-prices"))
    return head + "".join(f"{row}\n" for row in sorted(rows))


def _format_provider_rows(provider: Provider, moment: datetime) -> Iterator[str]:
    rows: dict[str, str] = {}
    label = f"*{provider.id}" if provider.id in MAKERS else provider.id
    for model in provider.models:
        price = _find_price(model, moment)
        if price is None or any(word in model.id.lower() for word in _NOT_CHAT):
            continue
        if model.id.startswith(_NOT_SERVED.get(provider.id, "-")):
            continue
        fields = [label, str(model.context_window or ""), *(format_rates(step) for step in price.steps)]
        for name in (model.id, *_list_names(model.match)):
            # The first model with a name wins, as in genai-prices.
            rows.setdefault(format_name(name), "\t".join(fields))
    for name, text in rows.items():
        # Skip a name if the lookup finds the same row under a shorter spelling.
        shorter = [spelling for spelling in generate_spellings(name) if spelling != name and name.startswith(spelling)]
        if not any(rows.get(spelling) == text for spelling in shorter):
            yield f"{name}\t{text}"


def _list_names(match: MatchLogic) -> Iterator[str]:
    """Yield the names in a rule of genai-prices. The lookup handles dates and variants itself."""
    for rule in (*getattr(match, "or_", ()), *getattr(match, "and_", ())):
        yield from _list_names(rule)
    for kind in ("equals", "starts_with", "ends_with", "contains"):
        name = getattr(match, kind, None)
        if isinstance(name, str) and name[-1].isalnum():
            yield name.lstrip("/")


def _find_price(model: ModelInfo, moment: datetime) -> Price | None:
    """Return the highest price of the day that begins at `moment`, or None for models not priced by tokens."""
    if model.id.endswith(":free"):
        return FREE
    by_hour = [_convert(model.get_prices(moment + timedelta(hours=hour))) for hour in range(_HOURS)]
    return max((price for price in by_hour if price is not None), key=lambda price: price.compute(3, 1), default=None)


def _convert(price: ModelPrice) -> Price | None:
    reading, writing, cached = price.input_mtok, price.output_mtok, price.cache_read_mtok
    if reading is None or writing is None:
        return None
    starts = {0, *(tier.start for unit in (reading, writing, cached) for tier in getattr(unit, "tiers", ()))}
    steps: list[Rates] = []
    for start in sorted(starts):
        step = Rates(
            _read_amount(reading, start),
            _read_amount(writing, start),
            None if cached is None else _read_amount(cached, start),
            start,
        )
        # Skip a step that repeats the one before it.
        if not steps or replace(step, above=steps[-1].above) != steps[-1]:
            steps.append(step)
    return Price(tuple(steps))


def _read_amount(unit: object, start: int) -> float:
    if isinstance(unit, Decimal):
        return float(unit)
    base, tiers = unit.base, unit.tiers  # type: ignore[attr-defined]  # An amount is a Decimal or has tiers.
    return float(max(((tier.start, tier.price) for tier in tiers if tier.start <= start), default=(0, base))[1])


def main() -> None:
    text = make_list(datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0))
    LIST_FILE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{LIST_FILE}: {text.count(chr(10))} lines, {len(text.encode()):,} bytes\n")


if __name__ == "__main__":
    main()
