"""Compression of MEMORY.md by a model if selecting entries can't keep it within its limit (S2).

This happens if a model has added lines without an entry. Lines that people typed are never compressed.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

import structlog

from config.texts import N_, _
from memory.clock import Clock, system_clock
from memory.errors import ContentFiltered, MemoryRefused
from memory.facts.second_look import PromptFn, ask_until
from memory.ledger.ledger import Ledger
from memory.messages import make_storable
from memory.store.entry import Author, Operation

log = structlog.get_logger(__name__)

MAX_TRIES = 3
"""How often the model is asked if a person edits the file in the meantime."""
WARNING_INTERVAL = timedelta(days=7)
MIN_KEPT_SHARE = 0.5
"""Minimum size of the compressed file, as a share of the limit."""

_TASK = """\
You are a memory consolidation agent. The long-term memory below is too long ({size} bytes of {limit}). Write it anew \
in less than {limit} and more than {least} bytes, as lines that begin with "- ": merge lines that say the same, drop \
what is stale or of little value. Answer with the new text alone.
"""
_TYPED = """\
The user typed these lines: keep each of them as it is.
"""
_EMPTY = N_("it was left empty")
_NOT_SHORTER = N_("it wasn't shorter")
_TOO_SHORT = N_("too much was lost")
_LOST_TYPED = N_("lines that you wrote were lost")


class Compression:
    """Compresses a MEMORY.md.

    Args:
        prompt: Asks the model for plain text.
        limit: Maximum size of the file in bytes.
    """

    def __init__(self, prompt: PromptFn, ledger: Ledger, limit: int, clock: Clock = system_clock) -> None:
        self._prompt = prompt
        self._ledger = ledger
        self._limit = limit
        self._clock = clock
        self._warned: dict[str, datetime] = {}

    async def run(self, owner: str, deadline: float) -> str | None:
        """Compress an owner's MEMORY.md if it is too long. Return a warning for the user, at most once a week.

        Raises Postponed.
        """
        for _try in range(MAX_TRIES):
            memory = await self._ledger.read_page(owner)
            if len(memory.encode()) <= self._limit:
                return None
            typed = await self._ledger.find_typed_lines(owner, memory)
            if sum(len(line.encode()) + 1 for line in typed) >= self._limit:
                return None  # The typed lines alone are too long.
            text = await self._ask(memory, typed, deadline)
            if text is None:
                return None
            why = find_refusal_reason(memory, text, self._limit, typed)
            if why is not None:
                return self._report_refusal(owner, memory, why)
            try:
                if await self._write(owner, memory, text):
                    return None
            except MemoryRefused as error:
                log.warning("compression_refused", owner=owner, reason=error.loggable)
                return None
            log.info("memory_edited_meanwhile", owner=owner)
        return None

    async def _ask(self, memory: str, typed: Collection[str], deadline: float) -> str | None:
        typed_lines = f"\n## Typed by the User\n{_TYPED}" + "\n".join(typed) if typed else ""
        task = _TASK.format(size=len(memory.encode()), limit=self._limit, least=int(self._limit * MIN_KEPT_SHARE))
        prompt = f"{task}{typed_lines}\n## Long-term Memory\n{memory}"
        try:
            completion = await ask_until(self._prompt, prompt, deadline, "compression_failed")
        except ContentFiltered:
            completion = None
        return make_storable(completion.text) if completion is not None and completion.is_whole else None

    async def _write(self, owner: str, memory: str, text: str) -> bool:
        async with self._ledger.change(owner, Operation.COMPRESS, Author.CONSOLIDATION) as change:
            # A person has edited the file in the meantime.
            if make_storable(await change.read_page()) != memory:
                return False
            await change.edit_file(lambda _: f"{text.strip()}\n")
        return change.is_written

    def _report_refusal(self, owner: str, memory: str, why: str) -> str | None:
        log.warning("compression_refused", reason=why)
        now = self._clock()
        if owner in self._warned and now - self._warned[owner] < WARNING_INTERVAL:
            return None
        self._warned[owner] = now
        size = len(memory.encode())
        return _(
            "MEMORY.md is too long ({size} of {most} bytes), and I rejected the model's shorter version: {why}.",
            size=size,
            most=self._limit,
            why=_(why),
        )


def find_refusal_reason(memory: str, text: str, limit: int, typed: Collection[str]) -> str | None:
    """Return an untranslated reason to refuse a compressed text, or None. `limit` is in bytes."""
    lines = {line.strip() for line in text.splitlines()}
    size = len(text.strip().encode())
    if not size:
        return _EMPTY
    if size >= len(memory.strip().encode()):
        return _NOT_SHORTER
    # Repeated lines count once.
    if sum(len(line.encode()) + 1 for line in lines) < limit * MIN_KEPT_SHARE:
        return _TOO_SHORT
    if any(line.strip() not in lines for line in typed):
        return _LOST_TYPED
    return None
