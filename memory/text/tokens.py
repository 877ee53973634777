"""Estimates token counts from the number of characters in each writing system, calibrated with reported usage."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory.messages import Message

_DENSE = re.compile("[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\U0001f000-\U0001faff\U00020000-\U0003ffff]+")
_NOT_LATIN = re.compile("[^\x00-\u024f]+")

MESSAGE_OVERHEAD = 4
"""Tokens of a message in addition to its text: role and delimiters of the chat template."""

IMAGE_TOKENS = 1_600
"""Upper bound for an image in the sizes that are sent. Anthropic counts width x height / 750 and scales down to 1,600,
OpenAI up to 1,105 (GPT-4o, high detail), Gemini some hundreds."""

_LEARNING_RATE = 0.3
_MIN_RATE, _MAX_RATE = 0.05, 3.0
_STEADY_TOLERANCE = 0.1
"""Relative change of a rate from which texts are cut by the new rate. The context window has the same margin."""


Scripts = tuple[float, float, float]
"""One number for each kind of script: Latin and ASCII, dense (CJK, emoji), and all others."""
# Tokens per character. S3's estimate is 1 token per 4 characters. Dense scripts cost about 1.
_INITIAL_RATES: Scripts = (0.25, 1.0, 0.25)


def count_characters(text: str) -> Scripts:
    if text.isascii():
        return len(text), 0, 0
    # Matching whole runs is faster, and a request counts its contents several times.
    beyond = "".join(_NOT_LATIN.findall(text))
    dense = sum(map(len, _DENSE.findall(beyond)))
    return len(text) - len(beyond), dense, len(beyond) - dense


class TokenCounter:
    """Estimates token counts, calibrated per model from the usage that it reports."""

    def __init__(self) -> None:
        self._rates: dict[str, Scripts] = {}
        self._steady_rates: dict[str, Scripts] = {}

    def is_calibrated(self, model: str) -> bool:
        return model in self._rates

    def count(self, text: str, model: str = "") -> int:
        """Estimate the tokens of `text`, at least 1 for text that is not empty."""
        return _round_up(self._estimate(count_characters(text), self._get_rates(model)))

    def count_steadily(self, text: str, model: str = "") -> int:
        """Estimate the tokens of `text` by rates that rarely change.

        The same text is then cut at the same place in the next request, which providers read from their cache.
        """
        return _round_up(self._estimate(count_characters(text), self._steady_rates.get(model, _INITIAL_RATES)))

    def count_messages(self, messages: Iterable[Message], model: str = "") -> int:
        """Estimate the tokens of `messages` in a request, including tool calls and images."""
        return sum(
            MESSAGE_OVERHEAD + self.count(format_as_read(message), model) + IMAGE_TOKENS * len(message.images)
            for message in messages
        )

    def observe(self, model: str, texts: Iterable[str], prompt_tokens: int) -> None:
        """Calibrate the rates of a model with the reported `prompt_tokens` of a request."""
        parts = [count_characters(text) for text in texts]
        seen = tuple(map(sum, zip(*parts, strict=True)))
        norm = sum(count**2 for count in seen)
        if prompt_tokens <= 0 or norm == 0:
            return
        # A normalised least-mean-squares step. A conversation in one script mostly changes that script's rate.
        error = prompt_tokens - MESSAGE_OVERHEAD * len(parts) - self._estimate(seen, self._get_rates(model))
        step = _LEARNING_RATE * error / norm
        rates = zip(self._get_rates(model), seen, strict=True)
        # Bounded, so that a single wrong report can't spoil all later estimates.
        latin, dense, other = (min(_MAX_RATE, max(_MIN_RATE, rate + step * count)) for rate, count in rates)
        self._rates[model] = (latin, dense, other)
        steady = self._steady_rates.get(model, _INITIAL_RATES)
        pairs = zip(self._rates[model], steady, strict=True)
        if any(abs(rate - former) > _STEADY_TOLERANCE * former for rate, former in pairs):
            self._steady_rates[model] = self._rates[model]

    def _get_rates(self, model: str) -> Scripts:
        return self._rates.get(model, _INITIAL_RATES)

    def _estimate(self, seen: Iterable[float], rates: Scripts) -> float:
        return sum(rate * count for rate, count in zip(rates, seen, strict=True))


def _round_up(tokens: float) -> int:
    """Round up, from thousandths, since a sum of floats may be slightly above a whole number."""
    return -(-int(1000 * tokens) // 1000)


def format_as_read(message: Message) -> str:
    """Return the text of `message` that a model reads, including tool calls."""
    if not message.tool_calls:
        return message.content
    return message.content + "".join(call.name + call.arguments for call in message.tool_calls)
