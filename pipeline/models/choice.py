"""Which of the configured models talks in a chat: the usual one, or the one that was chosen there."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import structlog

from config.texts import _
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memory.service.preferences import PreferenceStore
    from pipeline.models.model import ChatModel

log = structlog.get_logger(__name__)


class ModelChoice:
    """The models that can talk, by name, the usual one first; and which one each chat has chosen.

    A chat is an `Address.owner`, whatever its topic.
    """

    def __init__(self, usual: ChatModel, others: Iterable[ChatModel], preferences: PreferenceStore) -> None:
        self.usual = usual
        self.models: Mapping[str, ChatModel] = {model.name: model for model in (usual, *others)}
        self._preferences = preferences

    async def of(self, chat: str) -> ChatModel:
        """The model that talks in a chat."""
        return self.models.get(await self._chosen(chat) or "", self.usual)

    async def for_turn(self, chat: str) -> tuple[ChatModel, str | None]:
        """The model that talks in a turn, and what is said, once, where the chosen one is not configured any more."""
        gone = await self._chosen(chat)
        if gone is None or gone in self.models:
            return await self.of(chat), None
        with contextlib.suppress(StoreError):  # such as a full disk: then it is said again
            await self.choose(chat, None)
        return self.usual, _(
            "The model {gone}, which was chosen here, is not configured any more: I talk with {usual} again.",
            gone=gone,
            usual=self.usual.name,
        )

    async def choose(self, chat: str, name: str | None) -> None:
        """Keep which model is to talk in a chat; None: the usual one. Raises StoreError."""
        await self._preferences.change(chat, model=name)

    async def _chosen(self, chat: str) -> str | None:
        try:
            return (await self._preferences.get(chat)).model
        except StoreError as error:  # a choice that can't be read keeps nobody from an answer
            log.warning("model_choice_not_read", reason=str(error))
            return None
