"""What the web server shows at its paths, and where something may be sent to it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Page:
    """What goes back for a request."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where something may be sent. admits: whether it may, by the headers of the request, in lower case.

    most_bytes: what is longer is not read. take: what is done with it, in the bot's own loop.
    """

    is_allowed: Callable[[Mapping[str, str]], bool]
    most_bytes: int
    take: Callable[[bytes], Coroutine[object, object, Page]]


class Pages:
    """Paths, and what is there. Whoever has something to serve puts it here, whether or not a server runs."""

    def __init__(self) -> None:
        self.shown: dict[str, Callable[[], Coroutine[object, object, Page]]] = {}
        """What a GET is answered with."""
        self.entrances: dict[str, Entrance] = {}
        """Where a POST may go."""

    @contextlib.contextmanager
    def opened(self, path: str, entrance: Entrance) -> Iterator[None]:
        """Have an entrance at `path` for as long as the context is open."""
        self.entrances[path] = entrance
        try:
            yield
        finally:
            del self.entrances[path]
