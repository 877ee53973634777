"""The menu of commands and the descriptions that Telegram shows of the bot, in each user's language."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

import structlog
from telegram import (
    Bot,
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    MenuButtonDefault,
    MenuButtonWebApp,
    WebAppInfo,
)
from telegram.constants import BotCommandScopeType
from telegram.error import TelegramError

from bot.commands.command import Access, Command
from bot.telegram.features import Feature, ServerFeatures
from config.texts import LANGUAGES, N_, SOURCE, _, use_language
from memory.errors import StoreError
from memory.runtime.menu_cache import MenuCache

log = structlog.get_logger(__name__)

DESCRIPTION = N_(
    "I remember what we talk about. /memory shows what I know; you can correct it, undo changes with /undo and delete"
    " it with /forget. I belong to one person, who decides who else can use me."
)
"""Text of an empty chat with the bot."""
SHORT_DESCRIPTION = N_("A private assistant with a memory that you can see and correct.")
"""Text of the bot's profile."""
PAGE_LABEL = N_("Memory")
_EPHEMERAL = "is_ephemeral"
MAX_DESCRIPTION_CHARS = 256
"""Maximum number of characters of a command's description (Bot API)."""


class Menu:
    """Publishes menu and descriptions. Only changes are sent: some dozen calls at first, then two at each start."""

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
        # Commands with a number are shown under the message that they refer to, and admission is offered as buttons
        self._commands = [command for command in commands if command.listed and command.access is not Access.OWNER]

    async def publish(self) -> None:
        """Publish everything. After a failure the next start tries again."""
        try:
            for scope, commands in self._list_scopes():
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
        """Have the button next to the text field open the memory page, or restore Telegram's own button."""
        key = self._make_key("button")
        if self._page is None and not await self._published.has_any(key):
            return
        button = MenuButtonDefault() if self._page is None else MenuButtonWebApp(_(PAGE_LABEL), WebAppInfo(self._page))
        await self._publish_once(key, self._page, lambda: self._bot.set_chat_menu_button(menu_button=button))

    async def _publish_once(self, key: str, shown: object, tell: Callable[[], Awaitable[object]]) -> None:
        if not await self._published.is_shown(key, shown):
            await tell()
            await self._published.store(key, shown)

    def _list_scopes(self) -> list[tuple[BotCommandScope, Sequence[Command]]]:
        """Return the commands of each scope. A group's menu lists only commands that its members may use there."""
        in_groups = [command for command in self._commands if command.name != "start"]
        for_all = [command for command in in_groups if command.access is not Access.MANAGERS]
        return [
            (BotCommandScopeAllPrivateChats(), self._commands),
            (BotCommandScopeAllGroupChats(), for_all),
            (BotCommandScopeAllChatAdministrators(), in_groups),
        ]

    async def _publish_commands(self, scope: BotCommandScope, commands: Sequence[Command], language: str) -> None:
        key, entries = self._make_key("commands", scope.type, language), self._build_entries(scope, commands, language)
        if await self._published.is_shown(key, entries):
            return
        menu = [
            BotCommand(name, description, api_kwargs={_EPHEMERAL: True} if marks else None)
            for name, description, *marks in entries
        ]
        await self._bot.set_my_commands(menu, scope=scope, language_code=_get_telegram_code(language))
        if self._features.supports(Feature.EPHEMERAL) is None and any(_EPHEMERAL in c.api_kwargs for c in menu):
            read = await self._bot.get_my_commands(scope, language_code=_get_telegram_code(language))
            # A server that doesn't know the mark drops it, and can't show ephemeral messages either
            await self._features.record(Feature.EPHEMERAL, supported=any(c.api_kwargs.get(_EPHEMERAL) for c in read))
            entries = self._build_entries(scope, commands, language)
        await self._published.store(key, entries)

    def _build_entries(
        self, scope: BotCommandScope, commands: Sequence[Command], language: str
    ) -> list[tuple[str, str] | tuple[str, str, str]]:
        """Return names and descriptions. In groups, commands with personal answers also get the mark `is_ephemeral`."""
        is_marking = scope.type != BotCommandScopeType.ALL_PRIVATE_CHATS
        is_marking = is_marking and self._features.supports(Feature.EPHEMERAL) is not False
        with use_language(language):
            texts = [(command.name, _(command.description)[:MAX_DESCRIPTION_CHARS]) for command in commands]
        return [
            (*text, _EPHEMERAL) if is_marking and command.alone else text
            for command, text in zip(commands, texts, strict=True)
        ]

    async def _publish_about(
        self, kind: str, text: str, present: str, tell: Callable[[str | None, str | None], Awaitable[bool]]
    ) -> None:
        """Publish a description, unless the owner set another one with @BotFather, which then applies to all languages.

        Args:
            present: the text for users of languages without a separate text.
        """
        usual = self._make_key(kind, SOURCE)
        if present not in ("", text) and not await self._published.is_shown(usual, present):
            texts = {language: "" for language in LANGUAGES if language != SOURCE}
            texts = {
                code: no for code, no in texts.items() if await self._published.has_any(self._make_key(kind, code))
            }
        else:
            texts = {language: _translate(language, text) for language in LANGUAGES}
        for language, translation in texts.items():
            key = self._make_key(kind, language)
            is_gone = language == SOURCE and present != translation
            if is_gone or not await self._published.is_shown(key, translation):
                await tell(translation or None, _get_telegram_code(language))  # None removes the former text
                await self._published.store(key, translation)

    def _make_key(self, *parts: str) -> str:
        """Return a key of this bot: the database may be moved to another one."""
        return "/".join([str(self._bot.id), *parts])


def _translate(language: str, text: str) -> str:
    with use_language(language):
        return _(text)


def _get_telegram_code(language: str) -> str | None:
    """Return Telegram's code of a language. None is the default for all users without a translation."""
    return None if language == SOURCE else language
