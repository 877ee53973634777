"""Commands of the bot's owner about who may come in: /letin /keepout."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bot.commands.command import Access, CommandCall, WrongArgument, command
from config.texts import N_, _

if TYPE_CHECKING:
    from memory.access import AccessList


class AccessCommands:
    """What the commands do: each parses its argument, calls one service and returns text."""

    def __init__(self, access: AccessList) -> None:
        self._access = access

    @command("letin", N_("Let somebody write to me"), "ID", repeatable=True, access=Access.OWNER)
    async def let_in(self, call: CommandCall) -> str:
        """/letin ID"""
        user = _user_in(call)
        await self._access.let_in(user)
        return _("{user} may write to me now, and gets a memory of their own: tell them to write again.", user=user)

    @command("keepout", N_("Don't let somebody in, and don't ask again"), "ID", repeatable=True, access=Access.OWNER)
    async def keep_out(self, call: CommandCall) -> str:
        """/keepout ID"""
        user = _user_in(call)
        await self._access.refuse(user)
        return _(
            "{user} stays outside, and I don't ask about them again. /letin_{user} lets them in after all.", user=user
        )


def _user_in(call: CommandCall) -> int:
    match = re.fullmatch(r"#?(\d{1,15})", call.argument)
    if match is None:
        raise WrongArgument(_("/{name} takes a Telegram id, such as: /{name} 123456789.", name=call.name))
    return int(match[1])
