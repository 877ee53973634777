"""AutoCapture (15): what the user asks to have remembered is written down, without a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.entry import Author
from memory.errors import MemoryRefused
from memory.messages import Provenance

if TYPE_CHECKING:
    from memory.long_term import LongTermMemory
    from pipeline.turn import Turn

LONGEST_CAPTURE = 500

_REQUEST = re.compile(
    r"^\s*(?:please[,\s]+|пожалуйста[,\s]+|будь ласка[,\s]+|bitte[,\s]+|por favor[,\s]+|s['’]il te plaît[,\s]+|请|請)?"
    # a whole word: «запомнил» tells, «запомни» asks
    r"(?:(?:remember(?:\s+this|\s+that|(?=\s*:))|запомни(?:те)?(?:[,\s]+что\b)?|запам['’]ятай(?:те)?(?:[,\s]+що\b)?|"
    r"merke? dir(?:[,\s]+dass\b)?|recuerda(?:[,\s]+que\b)?|souviens-toi(?:[,\s]+que\b)?|retiens(?:[,\s]+que\b)?)\b|"
    r"记住|記住)"
    r"\s*[:,：，]?\s*(?P<what>\S.{2,})$",
    re.IGNORECASE | re.DOTALL,
)


class AutoCapture:
    """Appends what a typed message explicitly asks to remember to MEMORY.md, and says so in a quiet line."""

    name = "AutoCapture"

    def __init__(self, memory: LongTermMemory | None) -> None:
        self._memory = memory

    async def process(self, turn: Turn) -> None:
        """Capture from the words that the user typed; forwarded and attached text never writes memory."""
        if self._memory is None:
            return
        for message in turn.user_messages:
            what = requested(message.content) if message.provenance is Provenance.TYPED else None
            if what is None or turn.replaces_turn is not None:
                continue
            line = f"- {what}"
            if line in (await self._memory.read(turn.session.owner)).splitlines():
                continue
            try:
                await self._memory.append(turn.session.owner, line, Author.CAPTURE)
            except MemoryRefused as error:
                turn.notices.append(f"Not noted: {error}")
            else:
                turn.notices.append(f"Noted in MEMORY.md: {what} (/undo takes it back)")


def requested(text: str) -> str | None:
    """What `text` asks to remember in so many words; None when it does not ask, or asks a question."""
    found = _REQUEST.match(text)
    if found is None or text.rstrip().endswith(("?", "？")):
        return None
    return " ".join(found["what"].split())[:LONGEST_CAPTURE]
