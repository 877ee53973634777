"""AutoCapture (15): what the user asks to have remembered is written down, without a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.entry import Author
from memory.messages import Provenance

if TYPE_CHECKING:
    from memory.long_term import LongTermMemory
    from pipeline.turn import Turn

LONGEST_CAPTURE = 500

_REQUEST = re.compile(
    r"^\s*(?:please[,\s]+|пожалуйста[,\s]+|будь ласка[,\s]+|bitte[,\s]+|por favor[,\s]+|请)?"
    r"(?:remember(?:\s+this|\s+that|(?=\s*:))|запомни(?:те)?(?:[,\s]+что)?|запам['’]ятай(?:те)?(?:[,\s]+що)?|"
    r"merk(?:e)? dir(?:[,\s]+dass)?|recuerda(?:[,\s]+que)?|souviens-toi(?:[,\s]+que)?|retiens(?:[,\s]+que)?|"
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
            if what in await self._memory.read(turn.session.owner):
                continue
            await self._memory.append(turn.session.owner, f"- {what}", Author.CAPTURE)
            turn.notices.append(f"Noted in MEMORY.md: {what} (/undo takes it back)")


def requested(text: str) -> str | None:
    """What `text` asks to remember in so many words; None when it does not ask, or asks a question."""
    found = _REQUEST.match(text)
    if found is None or text.rstrip().endswith(("?", "？")):
        return None
    return " ".join(found["what"].split())[:LONGEST_CAPTURE]
