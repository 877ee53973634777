"""How many tokens a text is, without the model's own tokenizer: counted by script, calibrated by use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.messages import Message

_DENSE = re.compile("[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\U0001f000-\U0001faff\U00020000-\U0003ffff]")
_LATIN = re.compile("[\x00-\u024f]")

MESSAGE_OVERHEAD = 4
"""Tokens that a message costs beyond its text: role and delimiters, as chat templates write them."""

_LEARNING_RATE = 0.3
_LOWEST, _HIGHEST = 0.05, 3.0


@dataclass(slots=True)
class _Rates:
    """Tokens a character, by script. S3's estimate is 1 token per 4 characters; dense scripts cost about 1."""

    latin: float = 0.25
    dense: float = 1.0
    other: float = 0.25


@dataclass(frozen=True, slots=True)
class Characters:
    """The characters of a text by script: latin and ASCII, dense (CJK, emoji), and all others."""

    latin: int
    dense: int
    other: int


def characters(text: str) -> Characters:
    """Count the characters of `text` by script."""
    if text.isascii():
        return Characters(len(text), 0, 0)
    latin = len(_LATIN.findall(text))
    dense = len(_DENSE.findall(text))
    return Characters(latin, dense, len(text) - latin - dense)


class TokenCounter:
    """Estimates tokens and learns, for each model, from the usage that the model reports."""

    def __init__(self) -> None:
        self._rates: dict[str, _Rates] = {}

    def calibrated(self, model: str) -> bool:
        """Whether `model` has reported usage yet."""
        return model in self._rates

    def text(self, text: str, model: str = "") -> int:
        """Tokens of `text`, at least 1 for text that is not empty."""
        return -(-int(1000 * self._estimate(characters(text), model)) // 1000)

    def messages(self, messages: Iterable[Message], model: str = "") -> int:
        """Tokens of `messages` as a request sends them, tool calls included."""
        return sum(MESSAGE_OVERHEAD + self.text(spoken(message), model) for message in messages)

    def observe(self, model: str, texts: Iterable[str], prompt_tokens: int) -> None:
        """Learn that a request of `texts` was `prompt_tokens` long.

        A normalised least-mean-squares step: the error is spread over the scripts by their share, so that
        a conversation in one script moves that script's rate.
        """
        parts = [characters(text) for text in texts]
        seen = Characters(sum(p.latin for p in parts), sum(p.dense for p in parts), sum(p.other for p in parts))
        norm = seen.latin**2 + seen.dense**2 + seen.other**2
        if prompt_tokens <= 0 or norm == 0:
            return
        rates = self._rates.setdefault(model, _Rates())
        error = prompt_tokens - MESSAGE_OVERHEAD * len(parts) - self._estimate(seen, model)
        step = _LEARNING_RATE * error / norm
        rates.latin = _bounded(rates.latin + step * seen.latin)
        rates.dense = _bounded(rates.dense + step * seen.dense)
        rates.other = _bounded(rates.other + step * seen.other)

    def _estimate(self, seen: Characters, model: str) -> float:
        rates = self._rates.get(model) or _Rates()
        return seen.latin * rates.latin + seen.dense * rates.dense + seen.other * rates.other


def spoken(message: Message) -> str:
    """All text of `message` that a model reads, tool calls included."""
    if not message.tool_calls:
        return message.content
    return message.content + "".join(call.name + call.arguments for call in message.tool_calls)


def _bounded(rate: float) -> float:
    return min(_HIGHEST, max(_LOWEST, rate))
