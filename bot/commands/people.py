"""/letin /keepout /usage: access to the bot, and each chat's use of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from bot.commands.command import PEOPLE, Access, Answer, CommandCall, CommandResult, WrongArgument, command
from bot.commands.status import format_cost
from config.numbers import parse_number, parse_reference
from config.texts import N_, _, format_number
from memory.access import AccessList
from memory.buttons import Button
from memory.facts.sharing import Sharing
from memory.runtime.usage import UsageLog

FAMILY = "family"
GUEST = "guest"
"""Roles of new users under MEMORY_SCOPE=family."""


@dataclass(frozen=True, slots=True)
class AccessCommands:
    heading: ClassVar = PEOPLE

    access: AccessList
    sharing: Sharing
    usage: UsageLog

    @command("usage", N_("Show what each chat used today"), access=Access.OWNER, alone=True)
    async def show_usage(self, call: CommandCall) -> str:
        lines = []
        for chat in await self.usage.list_chats_today():
            spent = await self.usage.sum_today(chat)
            cost = f", {format_cost(spent.cost)}" if spent.priced else ""
            lines.append(f"- {chat}: {format_number(spent.tokens)}{cost}")
        return "\n".join([_("Tokens of today by chat:"), *lines]) if lines else _("No chat has used any tokens today.")

    @command("letin", N_("Let a person use me"), "ID", repeatable=True, access=Access.OWNER)
    async def let_in(self, call: CommandCall) -> CommandResult:
        """Let in the user with an ID. Under MEMORY_SCOPE=family a role follows, and the ID may be that of a group."""
        number, _space, role = call.argument.partition(" ")
        role = role.strip().lower()
        if not self.sharing.enabled or role not in (FAMILY, GUEST):
            user = _parse_user(call)
            if self.sharing.enabled:
                return Answer(
                    _("How should {user} join? Family members see what the family shares; guests don't.", user=user),
                    (admission_buttons(user, asks_for_role=True),),
                )
            await self.access.let_in(user)
            return _("{user} can use me now, with a memory of their own. Ask them to write again.", user=user)
        group = parse_number(number[1:]) if number.startswith("-") else None
        user = -group if group else _parse_user(replace(call, argument=number))
        if user > 0:
            await self.access.let_in(user)
        owner = self.access.get_owner(user)
        await (self.sharing.admit(owner) if role == FAMILY else self.sharing.expel(owner))
        if group:
            return (
                _("{user} can now see what the family shares.", user=user)
                if role == FAMILY
                else _("{user} can no longer see what the family shares.", user=user)
            )
        if role == GUEST:
            return _("{user} can use me now, with a memory of their own. Ask them to write again.", user=user)
        return _("{user} is now a family member: ask them to write again.", user=user)

    @command("keepout", N_("Decline a person permanently"), "ID", repeatable=True, access=Access.OWNER)
    async def keep_out(self, call: CommandCall) -> str:
        user = _parse_user(call)
        await self.access.refuse(user)
        return _("{user} was declined. I won't ask about them again. /letin_{user} changes that.", user=user)


def admission_buttons(user: int, *, asks_for_role: bool) -> tuple[Button, ...]:
    if not asks_for_role:
        return (Button(_("Let in"), f"/letin_{user}"),)
    return Button(_("Family"), f"/letin {user} {FAMILY}"), Button(_("Guest"), f"/letin {user} {GUEST}")


def _parse_user(call: CommandCall) -> int:
    user = parse_reference(call.argument)
    if not user:  # Ids start at 1
        raise WrongArgument(_("/{name} needs a Telegram id, such as: /{name} 123456789.", name=call.name))
    return user
