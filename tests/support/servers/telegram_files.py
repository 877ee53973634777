"""The former place of `tests.support.bot_api.files`."""

from tests.support.bot_api.files import SentFile, create_document, create_voice

__all__ = ["SentFile", "create_document", "create_voice"]
