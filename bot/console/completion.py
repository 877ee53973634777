"""What the tab key offers at the prompt: the commands, each with what it does, in the language that is spoken there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion

from config.texts import _, speaking

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from bot.chat.commands import Command


class CommandCompleter(Completer):
    """Completes the name of a command that is typed first. language: what is spoken now, which a command may change."""

    def __init__(self, commands: Mapping[str, Command], language: Callable[[], Awaitable[str]]) -> None:
        self._commands = commands
        self._language = language

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The commands that begin as the text does."""
        typed = document.text_before_cursor
        for name, command in self._commands.items():
            if f"/{name}".startswith(typed):
                yield Completion(f"/{name}", -len(typed), display_meta=_(command.description))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """The same, in the language that is spoken."""
        with speaking(await self._language()):
            found = list(self.get_completions(document, complete_event))
        for one in found:
            yield one
