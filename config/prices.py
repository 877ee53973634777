"""Prices and context windows of hosted models, from a generated list that is searched as text.

`python -m config.update_prices` generates the list `model_prices.tsv` next to this file. It is read on first use and
never parsed as a whole, which saves time and memory. Nothing is downloaded.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

_DATE = re.compile(r"[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})$")
_DOTTED_DIGITS = re.compile(r"(?<=\d)\.(?=\d)")
_SAME_PRICE_VARIANTS = (":beta", ":exacto", ":extended", ":floor", ":nitro", ":thinking", "-latest")
"""Suffixes for another route or behaviour of a model at the same price."""
_FREE_VARIANT = ":free"
_MAKER_PRICED = frozenset(("azure", "openrouter"))
"""Providers that charge the makers' prices for models that aren't listed with them."""
COST_REPORTING_PROVIDERS = frozenset(("openrouter",))
"""Providers that report the cost of each call with its answer."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices in US dollars per million tokens.

    Attributes:
        input: Price of prompt tokens.
        output: Price of completion tokens.
        cached: Price of cached prompt tokens. None means the same price as other prompt tokens.
        above: The rates apply to prompts of more tokens than this.
    """

    input: float
    output: float
    cached: float | None = None
    above: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model. Steps are sorted by prompt length."""

    steps: tuple[Rates, ...]

    @property
    def usual(self) -> Rates:
        return self.steps[0]

    def compute(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """Return the price of one call in US dollars. `prompt_tokens` includes `cached_tokens`."""
        rates = next((step for step in reversed(self.steps) if prompt_tokens > step.above), self.usual)
        cached = min(cached_tokens, prompt_tokens)
        prompt = (prompt_tokens - cached) * rates.input
        prompt += cached * (rates.input if rates.cached is None else rates.cached)
        return (prompt + completion_tokens * rates.output) / 1_000_000


FREE = Price((Rates(input=0, output=0),))


class _Row(NamedTuple):
    provider: str
    is_maker: bool
    context_tokens: int | None
    price: Price | None


class PriceList:
    def __init__(self, text: str) -> None:
        self._text = text

    def find(self, model_name: str, provider: str | None = None) -> Price | None:
        """Return the price of a model at a provider, or None if it is unknown.

        An unknown provider, such as a proxy, is assumed to charge the maker's price.
        """
        name = model_name.strip().lower()
        if name.endswith(_FREE_VARIANT) and provider == "openrouter":
            return FREE
        takes_makers_price = provider is None or provider in _MAKER_PRICED
        for spelling in generate_spellings(name):
            rows = [row for row in self._find_rows(spelling) if row.price is not None]
            own = next((row for row in rows if row.provider == provider), None)
            found = own or next((row for row in rows if row.is_maker and takes_makers_price), None)
            if found is not None:
                return found.price
        return None

    def find_context_tokens(self, model_name: str) -> int | None:
        """Return the context window of a model at its maker, or else the smallest one of all providers."""
        for spelling in generate_spellings(model_name.strip().lower().removesuffix(_FREE_VARIANT)):
            known = [(not row.is_maker, row.context_tokens) for row in self._find_rows(spelling) if row.context_tokens]
            if known:
                return min(known)[1]
        return None

    def _find_rows(self, name: str) -> Iterator[_Row]:
        needle = f"\n{_canonicalise(name)}\t"
        start = self._text.find(needle)
        while start >= 0:
            end = self._text.find("\n", start + 1)
            _, provider, context, *steps = self._text[start + 1 : end if end >= 0 else None].split("\t")
            price = Price(tuple(_parse_rates(step) for step in steps)) if steps else None
            yield _Row(provider.lstrip("*"), provider.startswith("*"), int(context) if context else None, price)
            start = self._text.find(needle, start + 1)


@functools.cache
def load_prices() -> PriceList:
    return PriceList((files("config") / "model_prices.tsv").read_text(encoding="utf-8"))


def find_provider(host: str | None, providers: Mapping[str, str]) -> str | None:
    """Return the provider at a host. `providers` has their names by domain."""
    # With the dots, notopenai.com doesn't match openai.com.
    return next((name for domain, name in providers.items() if f".{host or ''}".endswith(f".{domain}")), None)


def generate_spellings(model_name: str) -> Iterator[str]:
    """Yield the names that a model may be listed under, the most exact first.

    Vendors are removed from the front one by one (`openrouter/openai/gpt-4o`, `openai/gpt-4o`, `gpt-4o`). Each name is
    also tried without its variant (`:beta`, `-latest`) and without its date (`-20250929`).
    """
    name = model_name.strip().lower()
    seen = set()
    while name:
        bare = name
        for suffix in _SAME_PRICE_VARIANTS:
            bare = bare.removesuffix(suffix)
        for spelling in (name, bare, _DATE.sub("", bare)):
            if spelling not in seen:
                seen.add(spelling)
                yield spelling
        _, _, name = name.partition("/")


def format_rates(rates: Rates) -> str:
    """Format rates as a field of the list: `above:input/output/cached`."""
    numbers = [rates.input, rates.output, *([] if rates.cached is None else [rates.cached])]
    return f"{rates.above}:" + "/".join(f"{number:g}" for number in numbers)


def format_name(name: str) -> str:
    return _canonicalise(name.strip().lower())


def _canonicalise(name: str) -> str:
    """Replace 4.5 by 4-5, since providers use both for the same model."""
    return _DOTTED_DIGITS.sub("-", name)


def _parse_rates(field: str) -> Rates:
    above, _, numbers = field.partition(":")
    input_rate, output_rate, *cached = map(float, numbers.split("/"))
    return Rates(input_rate, output_rate, cached[0] if cached else None, int(above))
