"""The former place of `tests.support.bot_api.chats`."""

from tests.support.bot_api.chats import ChatType

__all__ = ["ChatType"]
