"""Commands on skills, which are tapped under what they are about: /keepskill_5 /makeskill_12."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.commands.command import Access, CommandCall, WrongArgument, command, tapped_number
from bot.commands.memory_browser import can_be_skill
from config.texts import N_, _
from pipeline.skills import package_of, read_package

if TYPE_CHECKING:
    from memory.ledger.entries import EntryStore
    from memory.media.media import MediaStore
    from pipeline.media.files import MediaSources
    from pipeline.skills import SkillPackage, Skills

MOST_DESCRIPTION = 300
"""Characters of a workflow that say what it is for."""


@dataclass(frozen=True, slots=True)
class SkillCommands:
    """What the commands do: each parses its argument, calls one service and returns text."""

    skills: Skills
    media: MediaStore
    sources: MediaSources
    entries: EntryStore

    @command("keepskill", N_("Keep a skill that you sent"), "NUMBER", access=Access.OWNER, listed=False)
    async def keepskill(self, call: CommandCall) -> str:
        number = tapped_number(call)
        media = await self.media.get(call.session.owner, int(number), call.session.id)
        package = None
        if media is not None:
            package = await asyncio.to_thread(read_package, await self.sources.fetch(media))
        if package is None:
            raise WrongArgument(_("There is no skill {number}: send its zip file again.", number=number))
        return await self._keep(package)

    @command("makeskill", N_("Write a workflow out as a skill"), "NUMBER", access=Access.OWNER, listed=False)
    async def makeskill(self, call: CommandCall) -> str:
        entry = await self.entries.get(call.session.owner, f"#{tapped_number(call)}")
        if not can_be_skill(entry):
            raise WrongArgument(
                _("{name} isn't a workflow that I learned from you, and only those become skills.", name=entry.name)
            )
        description = " ".join(entry.content.split())[:MOST_DESCRIPTION]
        return await self._keep(package_of(entry.name, description, entry.content))

    async def _keep(self, package: SkillPackage) -> str:
        await self.skills.keep(package)
        return _("The skill {name} is kept: I read it when it fits what is asked.", name=package.skill.name)
