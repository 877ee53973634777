"""Scripted faults of the local Telegram."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from tests.support.bot_api.params import ApiError

_PHRASES = {401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}


@dataclass(slots=True)
class Fault:
    """A scripted fault for calls of one method.

    Attributes:
        method: The affected method, or `*` for all methods.
        stall: The call gets no response.
        drop: The connection is closed without a response.
        html: The response is an HTML page.
        applied: The call takes effect before it fails.
        left: The number of calls left. None if the fault lasts until it is cleared or expires.
        late: The call succeeds, but its response waits for this event.
        body: The body of a response with status 200.
        until: The monotonic time at which the fault expires, or None.
    """

    method: str
    error_code: int
    retry_after: int
    description: str | None
    stall: bool
    drop: bool
    html: bool
    applied: bool
    left: int | None
    late: asyncio.Event | None = None
    body: bytes | None = None
    until: float | None = None

    def error(self) -> ApiError:
        """Return the error of the fault, in Telegram's words by default."""
        if self.error_code == 429:
            words = f"Too Many Requests: retry after {self.retry_after}"
            return ApiError(429, self.description or words, retry_after=self.retry_after)
        phrase = _PHRASES.get(self.error_code, "Bad Request" if self.error_code < 500 else "Internal Server Error")
        return ApiError(self.error_code, self.description or phrase)

    def page(self) -> bytes:
        """Return the page of a proxy in front of Telegram."""
        title = f"{self.error_code} Bad Gateway" if self.error_code == 502 else f"{self.error_code} Server Error"
        return f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>".encode()


class Faults:
    """The pending faults, oldest first."""

    def __init__(self) -> None:
        self._script: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Script a fault."""
        self._script.append(fault)

    def clear(self) -> None:
        """Remove all faults. Calls that already stall continue to stall."""
        self._script.clear()

    def take_next(self, method: str) -> Fault | None:
        """Return and consume the fault for this call."""
        self._script = [fault for fault in self._script if fault.until is None or time.monotonic() < fault.until]
        for fault in self._script:
            if fault.method not in {method, "*"}:
                continue
            if fault.left is not None:
                fault.left -= 1
                if not fault.left:
                    self._script.remove(fault)
            return fault
        return None
