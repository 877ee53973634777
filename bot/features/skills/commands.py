"""Commands for skills, clicked below a file or a workflow: /keepskill_5 /makeskill_12."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bot.commands.command import Access, CommandCall, WrongArgument, command, tapped_number
from bot.features.skills.folder import SkillPackage, Skills, make_package, read_package
from bot.services import MemoryServices
from config.texts import N_, _
from memory.buttons import Button
from memory.store.entry import Entry, Kind
from pipeline.media.files import MediaSources

MAX_DESCRIPTION_CHARS = 300
"""Maximum length of a skill's description, taken from its workflow."""


@dataclass(frozen=True, slots=True)
class SkillCommands:
    services: MemoryServices
    sources: MediaSources
    skills: Skills

    @command("keepskill", N_("Save a skill that you sent"), "NUMBER", access=Access.OWNER, listed=False)
    async def keepskill(self, call: CommandCall) -> str:
        number = tapped_number(call)
        media = await self.services.media.get(call.session.owner, number, call.session.id)
        package = None
        if media is not None:
            package = await asyncio.to_thread(read_package, await self.sources.fetch(media))
        if package is None:
            raise WrongArgument(_("There is no skill {number}: send its zip file again.", number=number))
        return await self._keep(package)

    @command("makeskill", N_("Export a workflow as a skill"), "NUMBER", access=Access.OWNER, listed=False)
    async def makeskill(self, call: CommandCall) -> str:
        entry = await self.services.entries.get(call.session.owner, f"#{tapped_number(call)}")
        if not can_be_skill(entry):
            raise WrongArgument(
                _("{name} isn't a workflow that I learned from you, and only those can become skills.", name=entry.name)
            )
        description = " ".join(entry.content.split())[:MAX_DESCRIPTION_CHARS]
        return await self._keep(make_package(entry.name, description, entry.content))

    async def _keep(self, package: SkillPackage) -> str:
        await self.skills.store(package)
        return _("The skill {name} is saved: I'll read it when it fits your request.", name=package.skill.name)


def skill_buttons(entry: Entry) -> list[Button]:
    return [Button(_("As a skill"), f"/makeskill_{entry.id}")] if can_be_skill(entry) else []


def can_be_skill(entry: Entry) -> bool:
    """Return True if an entry may become a skill. A skill's description becomes part of the system message."""
    return entry.kind == Kind.WORKFLOW and entry.trusted and entry.unconfirmed is None
