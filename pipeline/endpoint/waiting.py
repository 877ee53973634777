"""What a person is told while an answer does not come yet."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from config.texts import _, ngettext
from memory.text.tokens import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from pipeline.models.model import ModelRequest, OnWait

AT_ONCE = 0.3
"""Seconds; an endpoint that takes longer to be had is one that is being loaded, and the person is told."""

Awaited = TypeVar("Awaited")


async def while_loading(connecting: Awaitable[Awaited], on_wait: OnWait | None) -> Awaited:
    """The endpoint that is being connected to; whoever waits longer than a moment for it is told."""
    if on_wait is None:
        return await connecting
    saying = asyncio.create_task(_say_late(on_wait, _("loading the model")))
    try:
        return await connecting
    finally:
        saying.cancel()


def reading(request: ModelRequest) -> str:
    """What the model does until its first word; the tokens to two digits: an estimate must not look like a count."""
    counter = TokenCounter()
    tools = sum(counter.text(tool.name + tool.description + tool.parameters) for tool in request.tools)
    tokens = int(float(f"{counter.messages(request.messages) + tools:.1e}"))
    return ngettext("reading {n} token", "reading {n} tokens", tokens)


async def _say_late(on_wait: OnWait, what: str) -> None:
    await asyncio.sleep(AT_ONCE)
    await on_wait(what)
