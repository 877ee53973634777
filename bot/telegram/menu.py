"""What Telegram shows of the bot by itself, in the language of who looks: the menu of commands, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from telegram import (
    BotCommand,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    MenuButtonDefault,
    MenuButtonWebApp,
    WebAppInfo,
)
from telegram.constants import BotCommandScopeType
from telegram.error import TelegramError

from bot.commands.command import Access
from bot.telegram.features import Feature
from config.texts import LANGUAGES, N_, SOURCE, _, use_language
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from telegram import Bot, BotCommandScope

    from bot.commands.command import Command
    from bot.telegram.features import ServerFeatures
    from memory.service.menu_cache import MenuCache

log = structlog.get_logger(__name__)

DESCRIPTION = N_(
    "I remember what we talk about. /memory shows what I keep; you can correct it, undo it "
    "with /undo and have it forgotten with /forget. I belong to one person, who decides who "
    "else may use me."
)
"""What an empty chat with the bot shows."""
SHORT_DESCRIPTION = N_("A private assistant that remembers, and whose memory you can see and correct.")
"""What the bot's profile shows."""
PAGE_LABEL = N_("Memory")
_EPHEMERAL = "is_ephemeral"
LONGEST_COMMAND = 256
"""Characters of a command's description that Telegram takes."""


class Menu:
    """Tells Telegram what to show, where it was not told that before: some dozen calls once, and two at a start."""

    def __init__(
        self,
        bot: Bot,
        published: MenuCache,
        features: ServerFeatures,
        commands: Iterable[Command],
        page: str | None,
    ) -> None:
        self._bot = bot
        self._features = features
        self._page = page
        self._published = published
        # what comes with a number is under the message that it is about, and who may come in is asked by buttons
        self._commands = [command for command in commands if command.listed and command.access is not Access.OWNER]

    async def publish(self) -> None:
        """Tell it all. What can't be told now is at the next start."""
        try:
            for scope, commands in self._scopes():
                for language in LANGUAGES:
                    await self._publish_commands(scope, commands, language)
            description = (await self._bot.get_my_description()).description
            await self._publish_about("description", DESCRIPTION, description, self._bot.set_my_description)
            await self._publish_page()
            short = (await self._bot.get_my_short_description()).short_description
            await self._publish_about("short", SHORT_DESCRIPTION, short, self._bot.set_my_short_description)
        except (TelegramError, StoreError) as error:
            log.warning("menu_not_shown", reason=str(error), remedy="it is tried again at the next start")

    async def _publish_page(self) -> None:
        """Have the button beside the text field open the memory page where there is one, and be Telegram's own else."""
        what = self._key("button")
        if self._page is None and not await self._published.is_any(what):
            return
        button = MenuButtonDefault() if self._page is None else MenuButtonWebApp(_(PAGE_LABEL), WebAppInfo(self._page))
        await self._once(what, self._page, lambda: self._bot.set_chat_menu_button(menu_button=button))

    async def _once(self, what: str, shown: object, tell: Callable[[], Awaitable[object]]) -> None:
        """Tell Telegram what to show, unless it shows that."""
        if not await self._published.is_shown(what, shown):
            await tell()
            await self._published.keep(what, shown)

    def _scopes(self) -> list[tuple[BotCommandScope, Sequence[Command]]]:
        """In a group nobody is shown what they may not use there."""
        in_groups = [command for command in self._commands if command.name != "start"]
        for_all = [command for command in in_groups if command.access is not Access.MANAGERS]
        return [
            (BotCommandScopeAllPrivateChats(), self._commands),
            (BotCommandScopeAllGroupChats(), for_all),
            (BotCommandScopeAllChatAdministrators(), in_groups),
        ]

    async def _publish_commands(self, scope: BotCommandScope, commands: Sequence[Command], language: str) -> None:
        what, entries = self._key("commands", scope.type, language), self._entries(scope, commands, language)
        if await self._published.is_shown(what, entries):
            return
        menu = [
            BotCommand(name, description, api_kwargs={_EPHEMERAL: True} if marks else None)
            for name, description, *marks in entries
        ]
        await self._bot.set_my_commands(menu, scope=scope, language_code=_code(language))
        if self._features.supports(Feature.EPHEMERAL) is None and any(_EPHEMERAL in c.api_kwargs for c in menu):
            read = await self._bot.get_my_commands(scope, language_code=_code(language))
            # a server that does not know the mark does not keep it, nor can it show a message to one person
            await self._features.record(Feature.EPHEMERAL, supported=any(c.api_kwargs.get(_EPHEMERAL) for c in read))
            entries = self._entries(scope, commands, language)
        await self._published.keep(what, entries)

    def _entries(
        self, scope: BotCommandScope, commands: Sequence[Command], language: str
    ) -> list[tuple[str, str] | tuple[str, str, str]]:
        """Names and descriptions; marked what, chosen in a group, only the bot is to see."""
        is_marking = scope.type != BotCommandScopeType.ALL_PRIVATE_CHATS
        is_marking = is_marking and self._features.supports(Feature.EPHEMERAL) is not False
        with use_language(language):
            texts = [(command.name, _(command.description)[:LONGEST_COMMAND]) for command in commands]
        return [
            (*text, _EPHEMERAL) if is_marking and command.alone else text
            for command, text in zip(commands, texts, strict=True)
        ]

    async def _publish_about(
        self, kind: str, text: str, present: str, tell: Callable[[str | None, str | None], Awaitable[bool]]
    ) -> None:
        """Say what the bot is, unless its owner has said that with @BotFather: then that stays, for all languages.

        present: what is shown to those whose language has no text of its own.
        """
        usual = self._key(kind, SOURCE)
        if present not in ("", text) and not await self._published.is_shown(usual, present):
            texts = {language: "" for language in LANGUAGES if language != SOURCE}
            texts = {code: no for code, no in texts.items() if await self._published.is_any(self._key(kind, code))}
        else:
            texts = {language: _in(language, text) for language in LANGUAGES}
        for language, wording in texts.items():
            what = self._key(kind, language)
            is_gone = language == SOURCE and present != wording
            if is_gone or not await self._published.is_shown(what, wording):
                await tell(wording or None, _code(language))  # none at all takes away what was told
                await self._published.keep(what, wording)

    def _key(self, *parts: str) -> str:
        """What is shown, of this bot: a database may be taken along to another one."""
        return "/".join([str(self._bot.id), *parts])


def _in(language: str, text: str) -> str:
    with use_language(language):
        return _(text)


def _code(language: str) -> str | None:
    """The language as Telegram is told it; the source is for all who have none of their own here."""
    return None if language == SOURCE else language
