"""Model servers that already run on this machine, found at the ports they usually listen on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import httpx
from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

USUAL_PORTS: Mapping[str, int] = MappingProxyType({"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080})
"""Where each server listens unless it is told otherwise."""

NO_KEY = "none"
"""The value of OPENAI_API_KEY for a server that needs no key."""

_CONNECT_SECONDS = 0.3
_ANSWER_SECONDS = 2.0
# parts of the names of models that answer no conversation; the list that all servers give doesn't say so
_NO_CHAT = ("embed", "rerank", "bge-", "whisper", "all-minilm")


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server of this machine. models: those that can talk, in its order; empty when it has none yet."""

    name: str
    base_url: str
    models: tuple[str, ...]

    def listed(self, most: int) -> str:
        more = len(self.models) - most
        return ", ".join(self.models[:most]) + (f" and {more} more" if more > 0 else "")


class _Model(BaseModel):
    id: str


class _Listing(BaseModel):
    """What `/v1/models` answers; whatever is not this shape is no model server."""

    data: list[_Model] | None


async def find_local_servers(ports: Mapping[str, int] = USUAL_PORTS) -> list[LocalServer]:
    """Ask all `ports` (names of servers to their ports on the loopback) at once; those that answer, in that order.

    Never raises and takes two seconds at the most. No proxy is used: the question never leaves this machine.
    """
    timeout = httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
    async with httpx.AsyncClient(timeout=timeout, trust_env=False) as client:
        local_servers = await asyncio.gather(*(_ask(client, name, port) for name, port in ports.items()))
    return [server for server in local_servers if server is not None]


async def _ask(client: httpx.AsyncClient, name: str, port: int) -> LocalServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            answer = await client.get(f"{base_url}/models")
        answer.raise_for_status()
        listing = _Listing.model_validate_json(answer.content)
    except (httpx.HTTPError, TimeoutError, ValidationError):
        return None
    # Ollama says null where it has no model
    names = (model.id for model in listing.data or ())
    return LocalServer(name, base_url, tuple(n for n in names if not any(word in n.lower() for word in _NO_CHAT)))
