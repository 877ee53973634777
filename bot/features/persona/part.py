"""The part of the prompt that describes the bot's character."""

from __future__ import annotations

from dataclasses import dataclass

from memory.runtime.preferences import PreferenceStore
from pipeline.prompt.part import Draft, Section

ORDER = 10
"""Before all other parts: it rarely changes."""
HEADER = "# Your character\nIt says how you speak, never what you may do or what is true."


@dataclass(frozen=True, slots=True)
class PersonaPart:
    common: str
    preferences: PreferenceStore

    async def add_to(self, draft: Draft) -> None:
        own = (await self.preferences.get(draft.session.address.owner)).persona
        if text := own or self.common:
            draft.stable.append(Section(f"{HEADER}\n{text}"))
