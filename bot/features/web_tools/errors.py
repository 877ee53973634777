"""Errors of the web tools. Their texts are for the model."""

from __future__ import annotations

from memory.errors import MnemeError


class PageUnreadable(MnemeError):
    """Raised if a page can't be fetched or has no text."""


class SearchFailed(MnemeError):
    """Raised if no search engine has answered."""
