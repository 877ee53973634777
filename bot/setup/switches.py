"""Step of `mneme setup` for the bot's settings at Telegram, which its owner otherwise changes with @BotFather."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from telegram import User
from telegram.error import TelegramError

from bot.setup.questions import say
from bot.telegram.service import create_bot
from config.loading import load_settings
from config.settings import Settings

_METHOD = "setmysettings"
"""The method that changes the settings, from Bot API 10.5. Lower case, see `ServerFeatures.has_method`."""
_PLACE = "open the app of @BotFather, choose the bot, then Settings, Bot Settings"


@dataclass(frozen=True, slots=True)
class Switch:
    """A setting of the bot at Telegram.

    Args:
        name: its name at @BotFather.
        flag: the field of `getMe` that shows it.
        wanted: the value of that field if the switch is on.
        changes: the parameters that switch it on.
    """

    name: str
    purpose: str
    flag: str
    wanted: bool
    changes: Mapping[str, bool]

    def is_off(self, me: User) -> bool:
        """Return True if it is known to be off. Older servers don't tell."""
        value = getattr(me, self.flag, None)
        return value is not None and value is not self.wanted


SWITCHES = (
    Switch(
        "Guest Mode",
        "you can mention the bot in chats that it isn't a member of",
        "supports_guest_queries",
        wanted=True,
        changes={"supports_guest_queries": True},
    ),
    Switch(
        "Threaded Mode",
        "your chat with the bot has topics, each with its own conversation",
        "has_topics_enabled",
        wanted=True,
        changes={"has_topics_enabled": True, "allows_users_to_create_topics": True},
    ),
    Switch(
        "Group Privacy",
        "in groups the bot gets only the messages that are for it",
        "can_read_all_group_messages",
        wanted=False,
        changes={"can_read_all_group_messages": False},
    ),
)


def set_up_switches(env_file: Path) -> None:
    """Offer to change the settings that are off. If Telegram doesn't allow that, say which switches to set."""
    settings = load_settings(env_file)
    off = asyncio.run(_list_off(settings))
    if not off:
        return
    say("These settings of the bot are off at Telegram:")
    for switch in off:
        say(f"  {switch.name}: {switch.purpose}.")
    if typer.confirm("Switch them on?", default=True):
        off = asyncio.run(_switch_on(settings, off))
        if not off:
            say("They are on now.")
            return
    names = " and ".join(switch.name for switch in off)
    say(f"You can switch on {names} yourself: {_PLACE}.")


async def _list_off(settings: Settings) -> list[Switch]:
    try:
        async with create_bot(settings) as bot:
            return [switch for switch in SWITCHES if switch.is_off(bot.bot)]
    except TelegramError:
        return []  # The token was accepted a moment ago, so the network is gone


async def _switch_on(settings: Settings, off: Sequence[Switch]) -> list[Switch]:
    """Switch on the settings. Return those that are still off."""
    changes = {name: value for switch in off for name, value in switch.changes.items()}
    try:
        async with create_bot(settings) as bot:
            await bot.do_api_request(_METHOD, api_kwargs=changes)
            me = await bot.get_me()
    except TelegramError:
        return list(off)
    return [switch for switch in off if switch.is_off(me)]
