"""Calls of the bot."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.bot_api.params import JsonObject


@dataclass(slots=True)
class Call:
    """A call to the server. `response` is None until the server answers."""

    method: str
    params: JsonObject
    at: float
    response: JsonObject | None = None

    @property
    def ok(self) -> bool:
        """Return whether the call was answered with a result."""
        return self.response is not None and bool(self.response["ok"])

    @property
    def error_code(self) -> int | None:
        """Return the code of the error response."""
        return self.response.get("error_code") if self.response is not None else None

    def __str__(self) -> str:
        if self.response is None:
            outcome = "unanswered"
        else:
            outcome = "ok" if self.ok else f"{self.error_code} {self.response.get('description')}"
        shown = ", ".join(f"{name}={str(value)[:80]!r}" for name, value in self.params.items())
        return f"{self.method}({shown}) -> {outcome}"
