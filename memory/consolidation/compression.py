"""MEMORY.md made shorter where it has grown too long (S2), in a request of its own that holds nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _
from memory.errors import ContentFiltered, MemoryRefused
from memory.facts.second_look import answered
from memory.messages import storable
from memory.store.entry import Author, Operation

if TYPE_CHECKING:
    from collections.abc import Collection

    from memory.facts.second_look import PromptFn
    from memory.ledger.ledger import Ledger

log = structlog.get_logger(__name__)

TRIES = 3
"""How often the model is asked because a person edited the file during its answer."""
LEAST_KEPT = 0.5
"""The part of the limit that a compression keeps at least."""

_TASK = """\
You are a memory consolidation agent. The long-term memory below is too long ({size} bytes of {limit}). Write it anew \
in less than {limit} and more than {least} bytes, as lines that begin with "- ": merge lines that say the same, drop \
what is stale or of little value. Answer with the new text alone.
"""
_TYPED = """\
The user typed these lines: keep each of them as it is.
"""
_EMPTY = N_("it was left empty")
_NOT_SHORTER = N_("it became no shorter")
_TOO_SHORT = N_("too much of it was lost")
_LOST_TYPED = N_("lines that you typed were lost")


class Compression:
    """Has a model compress a MEMORY.md. limit: the bytes that it may have."""

    def __init__(self, prompt: PromptFn, ledger: Ledger, limit: int) -> None:
        self._prompt = prompt
        self._ledger = ledger
        self._limit = limit

    async def run(self, owner: str, deadline: float) -> str | None:
        """Compress an owner's MEMORY.md if it is too long; the refusal of an answer, for the user. Raises Postponed."""
        for _try in range(TRIES):
            memory = await self._ledger.page(owner)
            if len(memory.encode()) <= self._limit:
                return None
            typed = await self._ledger.typed_lines(owner, memory)
            text = await self._ask(memory, typed, deadline)
            if text is None:
                return None
            why = why_refused(memory, text, self._limit, typed)
            if why is not None:
                return self._refusal(memory, why)
            try:
                if await self._written(owner, memory, text):
                    return None
            except MemoryRefused as error:
                log.warning("compression_refused", owner=owner, reason=error.loggable)
                return None
            log.info("memory_edited_meanwhile", owner=owner)
        return None

    async def _ask(self, memory: str, typed: Collection[str], deadline: float) -> str | None:
        typed_lines = f"\n## Typed by the User\n{_TYPED}" + "\n".join(typed) if typed else ""
        task = _TASK.format(size=len(memory.encode()), limit=self._limit, least=int(self._limit * LEAST_KEPT))
        prompt = f"{task}{typed_lines}\n## Long-term Memory\n{memory}"
        try:
            completion = await answered(self._prompt, prompt, deadline, "compression_failed")
        except ContentFiltered:
            completion = None
        return storable(completion.text) if completion is not None and completion.is_whole else None

    async def _written(self, owner: str, memory: str, text: str) -> bool:
        async with self._ledger.change(owner, Operation.COMPRESS, Author.CONSOLIDATION) as change:
            # a person was faster: what was compressed is not what the file says now
            if storable(await change.page()) != memory:
                return False
            await change.edit_file(lambda _: f"{text.strip()}\n")
        return change.is_written

    def _refusal(self, memory: str, why: str) -> str:
        log.warning("compression_refused", reason=why)
        size = len(memory.encode())
        return _(
            "MEMORY.md is too long ({size} bytes of {most}), and the model's shorter version was refused: {why}.",
            size=size,
            most=self._limit,
            why=_(why),
        )


def why_refused(memory: str, text: str, limit: int, typed: Collection[str]) -> str | None:
    """Why a compressed text is not taken, to be translated; None where it is. limit: bytes."""
    lines = {line.strip() for line in text.splitlines()}
    size = len(text.strip().encode())
    if not size:
        return _EMPTY
    if size >= len(memory.strip().encode()):
        return _NOT_SHORTER
    # one line that is repeated is no text that was kept
    if sum(len(line.encode()) + 1 for line in lines) < limit * LEAST_KEPT:
        return _TOO_SHORT
    if any(line.strip() not in lines for line in typed):
        return _LOST_TYPED
    return None
