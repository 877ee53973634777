"""The interface of aids for models that don't call the tools that a message asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Protocol

from pipeline.turn import Turn

RequireTool = Callable[[str], Awaitable[bool]]
"""Asks the model again, for a call of the tool with a name. Returns True if the call has succeeded."""


class Review(Enum):
    FINAL = auto()  # The model's answer is the answer of the turn
    REPLACED = auto()  # `turn.produced` has another answer
    CONTINUED = auto()  # `turn.produced` has the call of a tool and its result, which the model reads next


class AnswerCheck(Protocol):
    """The aid for one turn."""

    async def answer(self) -> bool:
        """Answer in place of the model, at the end of `turn.produced`. Return False to have the model answer."""

    async def review(self, require_tool: RequireTool) -> Review:
        """Check the turn after the model has answered in words, before the answer is added to it."""


class AnswerAid(Protocol):
    async def begin(self, turn: Turn) -> AnswerCheck:
        """Create the aid for a turn, before the model is asked."""
