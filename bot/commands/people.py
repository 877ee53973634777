"""/letin /keepout /usage: access to the bot, and each chat's use of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.commands.command import PEOPLE, Access, Answer, CommandCall, CommandResult, WrongArgument, command
from bot.commands.status import format_cost
from config.numbers import parse_number, parse_reference
from config.texts import N_, _, format_number, ngettext
from memory import buttons
from memory.access import AccessList
from memory.buttons import CHOSEN, Button
from memory.facts.sharing import Sharing
from memory.runtime.usage import UsageLog

FAMILY = "family"
GUEST = "guest"
"""Roles of new users under MEMORY_SCOPE=family."""


@dataclass(frozen=True, slots=True)
class AccessCommands:
    """The commands about people.

    Args:
        allowed: The users and groups that the settings admit.
    """

    heading: ClassVar = PEOPLE

    access: AccessList
    sharing: Sharing
    usage: UsageLog
    allowed: frozenset[int] = frozenset()

    @command("usage", N_("Show what each chat used today"), access=Access.OWNER, alone=True)
    async def show_usage(self, call: CommandCall) -> str:
        lines = []
        for chat in await self.usage.list_chats_today():
            spent = await self.usage.sum_today(chat)
            cost = f", {format_cost(spent.cost)}" if spent.priced else ""
            name = await self.access.contacts.describe_chat(chat)
            lines.append(f"- {name}: {format_number(spent.tokens)}{cost}")
        return "\n".join([_("Tokens of today by chat:"), *lines]) if lines else _("No chat has used any tokens today.")

    @command("letin", N_("Let people use me"), "[ID]", repeatable=True, access=Access.OWNER)
    async def let_in(self, call: CommandCall) -> CommandResult:
        """Let in the users with some ids, or let the owner choose people if there is no id.

        Under MEMORY_SCOPE=family a role follows, and an id may be that of a group.
        """
        if not call.argument and await call.can_choose_people():
            return self._offer_choice()
        words, role = call.argument.split(), None
        if self.sharing.enabled and words and words[-1].lower() in (FAMILY, GUEST):
            role = words.pop().lower()
        people = [_parse_chat(call, word, may_be_group=role is not None) for word in words] or [_parse_user(call)]
        if self.sharing.enabled and role is None:
            return Answer(
                _(
                    "How should {people} join? Family members see what the family shares; guests don't.",
                    people=await self._list_names(people),
                ),
                (admission_buttons(people, asks_for_role=True),),
            )
        users, groups = [user for user in people if user > 0], [group for group in people if group < 0]
        new = [user for user in users if await self.access.let_in(user) and user not in self.allowed]
        changed = [chat for chat in people if role is not None and await self._change_role(chat, role)]
        lines = [await self._describe_group(group, role) for group in groups]
        if new := [user for user in users if user in new or user in changed]:
            lines.append(_describe_new(role, len(new), await self._list_names(new)))
        if known := [user for user in users if user not in new]:
            lines.append(
                ngettext(
                    "{people} can already use me.",
                    "{people} can already use me.",
                    len(known),
                    people=await self._list_names(known),
                )
            )
        return "\n".join(lines)

    @command("keepout", N_("Decline a person permanently"), "ID", repeatable=True, access=Access.OWNER)
    async def keep_out(self, call: CommandCall) -> str:
        user = _parse_user(call)
        await self.access.refuse(user)
        name = await self.access.contacts.describe(user)
        return _(
            "{person} was declined. I won't ask about them again. /letin_{user} changes that.", person=name, user=user
        )

    def _offer_choice(self) -> Answer:
        command = f"{buttons.PEOPLE}/letin {CHOSEN}"
        if not self.sharing.enabled:
            text = _("Choose the people who may use me with the button below.")
            return Answer(text, ((Button(_("Choose people"), command),),))
        family = Button(_("Choose family members"), f"{command} {FAMILY}")
        guests = Button(_("Choose guests"), f"{command} {GUEST}")
        text = _(
            "Choose the people who may use me with the buttons below. Family members see what the family shares; guests"
            " don't."
        )
        return Answer(text, ((family, guests),))

    async def _change_role(self, chat: int, role: str) -> bool:
        """Change a chat's role. Return True if it had another one."""
        owner = self.access.get_owner(chat)
        return await (self.sharing.admit(owner) if role == FAMILY else self.sharing.expel(owner))

    async def _describe_group(self, group: int, role: str | None) -> str:
        name = await self.access.contacts.describe(group)
        if role == FAMILY:
            return _("{people} can now see what the family shares.", people=name)
        return _("{people} can no longer see what the family shares.", people=name)

    async def _list_names(self, people: Sequence[int]) -> str:
        return ", ".join([await self.access.contacts.describe(person) for person in people])


def _describe_new(role: str | None, count: int, people: str) -> str:
    if role == FAMILY:
        return ngettext(
            "{people} is now a family member: ask them to write to me.",
            "{people} are now family members: ask them to write to me.",
            count,
            people=people,
        )
    return ngettext(
        "{people} can use me now, with a memory of their own. Ask them to write to me.",
        "{people} can use me now, each with a memory of their own. Ask them to write to me.",
        count,
        people=people,
    )


def admission_buttons(people: Sequence[int], *, asks_for_role: bool) -> tuple[Button, ...]:
    numbers = " ".join(map(str, people))
    if not asks_for_role:
        return (Button(_("Let in"), f"/letin {numbers}"),)
    return Button(_("Family"), f"/letin {numbers} {FAMILY}"), Button(_("Guest"), f"/letin {numbers} {GUEST}")


def _parse_chat(call: CommandCall, word: str, *, may_be_group: bool) -> int:
    group = parse_number(word[1:]) if may_be_group and word.startswith("-") else None
    return -group if group else _parse_user(call, word)


def _parse_user(call: CommandCall, word: str | None = None) -> int:
    user = parse_reference(call.argument if word is None else word)
    if not user:  # Ids start at 1
        raise WrongArgument(_("/{name} needs a Telegram id, such as: /{name} 123456789.", name=call.name))
    return user
