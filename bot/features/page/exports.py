"""Downloads of exports from the memory page. Each has a secret address that is valid for some minutes."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bot.commands.exporting import pack_export
from bot.features.page.data import Json, PageData
from memory.messages import Document

LIFETIME = timedelta(minutes=5)
MAX_EXPORTS = 3
"""Maximum number of exports in memory. A new one replaces the oldest."""


@dataclass(frozen=True, slots=True)
class _Export:
    owner: str
    document: Document
    until: datetime
    data: PageData


class Exports:
    """The exports that can be downloaded now.

    The download of a Mini App is a request of Telegram's app, which can't show a pass. So the address itself is secret.

    Args:
        origin: The site that may read a download, or an empty string.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._exports: dict[str, _Export] = {}

    async def prepare(self, data: PageData) -> Json:
        """Pack the memory of the page's owner. Return the relative address of the download, and the file's name."""
        _extent, document = await pack_export(data.memory, data.session, data.clock)
        now = data.clock()
        kept = {t: e for t, e in self._exports.items() if e.until > now and e.owner != data.owner}
        self._exports = dict(list(kept.items())[1 - MAX_EXPORTS :])
        token = secrets.token_urlsafe(32)
        self._exports[token] = _Export(data.owner, document, now + LIFETIME, data)
        return {"url": f"export/{token}", "name": document.name}

    async def download(self, request: Request) -> Response:
        found = self._exports.get(request.path_params["token"])
        if found is None or found.until <= found.data.clock():
            raise HTTPException(404)
        headers = {"content-disposition": f'attachment; filename="{found.document.name}"'}
        if self._origin:
            headers["access-control-allow-origin"] = self._origin
        return Response(found.document.content, media_type="application/zip", headers=headers)
