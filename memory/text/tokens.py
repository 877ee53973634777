"""How many tokens a text is, without the model's own tokenizer: counted by script, calibrated by use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.messages import Message

_DENSE = re.compile("[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\U0001f000-\U0001faff\U00020000-\U0003ffff]+")
_NOT_LATIN = re.compile("[^\x00-\u024f]+")

MESSAGE_OVERHEAD = 4
"""Tokens that a message costs beyond its text: role and delimiters, as chat templates write them."""

IMAGE_TOKENS = 1_600
"""What a picture costs at most, in the sizes that are sent: Anthropic counts width x height / 750 and scales down to
1,600, OpenAI up to 1,105 (GPT-4o, high detail), Gemini some hundreds."""

_LEARNING_RATE = 0.3
_LOWEST, _HIGHEST = 0.05, 3.0
_STEADY_TOLERANCE = 0.1
"""By how much of itself a rate may change before texts are cut by the new one. A window has the same margin."""


Scripts = tuple[float, float, float]
"""One number for each kind of script: latin and ASCII, dense (CJK, emoji), and all others."""
# tokens a character. S3's estimate is 1 token per 4 characters; dense scripts cost about 1.
_FIRST_RATES: Scripts = (0.25, 1.0, 0.25)


def characters(text: str) -> Scripts:
    """Return how many characters of each kind of script a text has."""
    if text.isascii():
        return len(text), 0, 0
    # by whole stretches: a request counts all that it holds several times
    beyond = "".join(_NOT_LATIN.findall(text))
    dense = sum(map(len, _DENSE.findall(beyond)))
    return len(text) - len(beyond), dense, len(beyond) - dense


class TokenCounter:
    """Estimates tokens and learns, for each model, from the usage that the model reports."""

    def __init__(self) -> None:
        self._rates: dict[str, Scripts] = {}
        self._steady_rates: dict[str, Scripts] = {}

    def calibrated(self, model: str) -> bool:
        return model in self._rates

    def text(self, text: str, model: str = "") -> int:
        """Tokens of `text`, at least 1 for text that is not empty."""
        return _whole(self._estimate(characters(text), self._rates_of(model)))

    def steady_text(self, text: str, model: str = "") -> int:
        """Estimate the tokens of `text` by rates that rarely change.

        The same text is then cut at the same place in the next request, which providers read from their cache.
        """
        return _whole(self._estimate(characters(text), self._steady_rates.get(model, _FIRST_RATES)))

    def messages(self, messages: Iterable[Message], model: str = "") -> int:
        """Tokens of `messages` as a request sends them, tool calls and pictures included."""
        return sum(
            MESSAGE_OVERHEAD + self.text(spoken(message), model) + IMAGE_TOKENS * len(message.images)
            for message in messages
        )

    def observe(self, model: str, texts: Iterable[str], prompt_tokens: int) -> None:
        """Learn that a request of `texts` was `prompt_tokens` long."""
        parts = [characters(text) for text in texts]
        seen = tuple(map(sum, zip(*parts, strict=True)))
        norm = sum(count**2 for count in seen)
        if prompt_tokens <= 0 or norm == 0:
            return
        # a normalised least-mean-squares step: by their share of the text, so that a conversation in one script moves
        # that script's rate
        error = prompt_tokens - MESSAGE_OVERHEAD * len(parts) - self._estimate(seen, self._rates_of(model))
        step = _LEARNING_RATE * error / norm
        rates = zip(self._rates_of(model), seen, strict=True)
        # bounded, so that one odd report can't spoil all later estimates
        latin, dense, other = (min(_HIGHEST, max(_LOWEST, rate + step * count)) for rate, count in rates)
        self._rates[model] = (latin, dense, other)
        steady = self._steady_rates.get(model, _FIRST_RATES)
        pairs = zip(self._rates[model], steady, strict=True)
        if any(abs(rate - former) > _STEADY_TOLERANCE * former for rate, former in pairs):
            self._steady_rates[model] = self._rates[model]

    def _rates_of(self, model: str) -> Scripts:
        return self._rates.get(model, _FIRST_RATES)

    def _estimate(self, seen: Iterable[float], rates: Scripts) -> float:
        return sum(rate * count for rate, count in zip(rates, seen, strict=True))


def _whole(tokens: float) -> int:
    """Round up, from thousandths, since a sum of floats may be slightly above a whole number."""
    return -(-int(1000 * tokens) // 1000)


def spoken(message: Message) -> str:
    """All text of `message` that a model reads, tool calls included."""
    if not message.tool_calls:
        return message.content
    return message.content + "".join(call.name + call.arguments for call in message.tool_calls)
