"""Answers as voice messages, in addition to their text."""

from __future__ import annotations

import asyncio
import re

from bot.features.voice.speech import Speech
from bot.telegram.rendering import render
from memory.messages import Document
from memory.runtime.preferences import PreferenceStore, VoiceReplies
from pipeline.arrival import Arrival

MAX_CHARS = 4_000
"""Characters of an answer that are read aloud. That takes some minutes, and OpenAI accepts 4,096."""
_ADDRESS = re.compile(r"https?://(?:www\.)?([^/\s?#]+)\S*")
_ENDS = re.compile(r"[.!?…。！？]+[\"'”’»)]*(?=\s)|[。！？]|\n")


class SpokenAnswers:
    """Speaks answers in chats that want it."""

    def __init__(self, speech: Speech, preferences: PreferenceStore) -> None:
        self._speech = speech
        self._preferences = preferences

    async def create(self, arrivals: list[Arrival], answer: str) -> Document | None:
        """Return the answer as a voice message. Return None if it isn't wanted or the speech model fails."""
        if not self._is_wanted(arrivals):
            return None
        text = await asyncio.to_thread(extract_spoken_text, answer)
        audio = await self._speech.speak(text) if text else None
        return Document("answer.ogg", audio, is_voice=True) if audio is not None else None

    def _is_wanted(self, arrivals: list[Arrival]) -> bool:
        chosen = self._preferences.get_cached(arrivals[-1].address.owner).voice
        if chosen is VoiceReplies.NEVER or arrivals[-1].alone:
            return False
        files = [file for arrival in arrivals for file in arrival.files]
        has_spoken = any(file.kind.is_own_voice and not file.quoted for file in files)
        return chosen is VoiceReplies.ALWAYS or has_spoken


def extract_spoken_text(markdown: str) -> str:
    """Return the text of an answer to read aloud: without code blocks, with hosts for addresses, and not too long."""
    pieces = []
    for chunk in render(markdown[: 5 * MAX_CHARS]):
        encoded = chunk.text.encode("utf-16-le")  # Entities count in UTF-16 code units
        for entity in sorted(chunk.entities, key=lambda entity: -entity.offset):
            if entity.type == entity.PRE:
                encoded = encoded[: 2 * entity.offset] + encoded[2 * (entity.offset + entity.length) :]
        pieces.append(encoded.decode("utf-16-le"))
    text = re.sub(r"\n{2,}", "\n\n", _ADDRESS.sub(r"\1", "\n".join(pieces))).strip()
    if len(text) <= MAX_CHARS:
        return text
    ends = [match.end() for match in _ENDS.finditer(text, 0, MAX_CHARS)]
    return text[: ends[-1] if ends else MAX_CHARS].rstrip()
