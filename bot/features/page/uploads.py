"""File uploads for imports, written to disk as they arrive."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO

from starlette.requests import Request

from bot.web.limits import allow_body
from config.texts import _
from memory.errors import MnemeError

MAX_UPLOAD_BYTES = 64 * 1024**2
"""Maximum size of an uploaded file. `mneme import` accepts larger ones."""
MAX_UPLOADS = 4
"""Maximum number of concurrent uploads, one per visitor, which limits the space on disk."""
_WRITE_BYTES = 1024**2


class UploadRefused(MnemeError):
    """An upload was refused."""


class Uploads:
    def __init__(self) -> None:
        self._owners: set[str] = set()

    @contextlib.asynccontextmanager
    async def receive(self, request: Request, owner: str, make_name: Callable[[str], str]) -> AsyncIterator[Path]:
        """Write the body of a request to a file, which is deleted at the end of the block.

        Its name is what `make_name` makes of the visitor's.

        Raises UploadRefused if the file is too large, or if too many are being received.
        """
        if int(request.headers.get("content-length", "0")) > MAX_UPLOAD_BYTES:
            raise UploadRefused(_explain_too_long())
        if owner in self._owners or len(self._owners) >= MAX_UPLOADS:
            raise UploadRefused(_("Another file is being imported. Please try again when it's finished."))
        self._owners.add(owner)
        try:
            # Allow a little more, so that a file without declared size gets the sentence about its size
            allow_body(request.scope, MAX_UPLOAD_BYTES + 1024**2)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / make_name(request.query_params.get("name", "").rpartition("/")[2])
                with path.open("wb") as file:
                    await _write_body(request, file)
                yield path
        finally:
            self._owners.discard(owner)


async def _write_body(request: Request, file: IO[bytes]) -> None:
    waiting, length = bytearray(), 0
    async for piece in request.stream():
        length += len(piece)
        if length > MAX_UPLOAD_BYTES:
            raise UploadRefused(_explain_too_long())
        waiting += piece
        if len(waiting) >= _WRITE_BYTES:
            await asyncio.to_thread(file.write, bytes(waiting))
            waiting.clear()
    await asyncio.to_thread(file.write, bytes(waiting))


def _explain_too_long() -> str:
    return _("This file is too large for the page: import it with `mneme import PATH`.")
