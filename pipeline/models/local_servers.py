"""Finds model servers that already run on this machine, by their default ports."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import httpx
from pydantic import BaseModel, ValidationError

USUAL_PORTS: Mapping[str, int] = MappingProxyType({"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080})

NO_KEY = "none"
"""The value of OPENAI_API_KEY for a server that needs no key."""

_CONNECT_SECONDS = 0.3
_ANSWER_SECONDS = 2.0
# Parts of the names of models that can't chat. The servers' lists of models don't tell.
_NO_CHAT = ("embed", "rerank", "bge-", "whisper", "all-minilm")


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server on this machine, with its chat models."""

    name: str
    base_url: str
    models: tuple[str, ...]

    def summarize(self, limit: int) -> str:
        more = len(self.models) - limit
        return ", ".join(self.models[:limit]) + (f" and {more} more" if more > 0 else "")


class _Model(BaseModel):
    id: str


class _Listing(BaseModel):
    """The answer of `/v1/models`. A server with another answer is not a model server."""

    data: list[_Model] | None


async def find_local_servers(ports: Mapping[str, int] = USUAL_PORTS) -> list[LocalServer]:
    """Ask all ports of the loopback interface at once and return the servers that answer, in the order of `ports`.

    Never raises, and takes at most two seconds. Proxies are ignored, so no request leaves the machine.
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
    # Ollama answers null if it has no model.
    names = (model.id for model in listing.data or ())
    return LocalServer(name, base_url, tuple(n for n in names if not any(word in n.lower() for word in _NO_CHAT)))
