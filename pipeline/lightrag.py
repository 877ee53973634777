"""LightRAG, where one is configured: earlier exchanges as a knowledge graph (S0's RAG layer)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import structlog

from pipeline.tls import tls_context

if TYPE_CHECKING:
    from datetime import datetime

    from memory.log.sessions import Session, Transcript

log = structlog.get_logger(__name__)

QUERY_TIMEOUT = 5.0
"""Seconds that a query may hold up a turn."""
INDEX_TIMEOUT = 15.0
SHORTEST_QUERY = 3
"""LightRAG rejects queries of fewer characters."""


class LightRag:
    """A LightRAG server. Nothing it does can fail a turn: what goes wrong is logged."""

    def __init__(self, url: str, api_key: str | None, mode: str) -> None:
        self._mode = mode
        headers = {"X-API-Key": api_key} if api_key else {}
        self._client = httpx.AsyncClient(base_url=url.rstrip("/"), headers=headers, verify=tls_context())

    async def index(self, session_id: str, turn: int, at: datetime, user: str, assistant: str) -> None:
        """Add one exchange."""
        document = {
            "text": f"[{at:%Y-%m-%d %H:%M}]\nUser: {user}\nAssistant: {assistant}",
            "file_source": f"{session_id}/{turn}",
        }
        try:
            response = await self._client.post("/documents/text", json=document, timeout=INDEX_TIMEOUT)
            response.raise_for_status()
        except httpx.HTTPError as error:
            log.warning("lightrag_index_failed", error=str(error) or type(error).__name__)

    async def relevant(
        self, session: Session, question: str, visible: Transcript, tokens: int, *, whole_exchanges: bool
    ) -> str:
        """What the graph knows about `question`; empty when it knows nothing or can't be reached."""
        if len(question.strip()) < SHORTEST_QUERY:
            return ""
        try:
            response = await self._client.post(
                "/query",
                json={"query": question, "mode": self._mode, "only_need_context": True, "enable_rerank": False},
                timeout=QUERY_TIMEOUT,
            )
            response.raise_for_status()
            answer = response.json()
        except (httpx.HTTPError, ValueError) as error:
            log.warning("lightrag_query_failed", error=str(error) or type(error).__name__)
            return ""
        found = answer.get("response") if isinstance(answer, dict) else None
        return found.strip() if isinstance(found, str) and "[no-context]" not in found else ""

    async def trouble(self) -> str | None:
        """Why the server can't be of service; None while it can."""
        try:
            response = await self._client.get("/health", timeout=QUERY_TIMEOUT)
        except httpx.HTTPError as error:
            return f"it can't be reached ({str(error) or type(error).__name__})"
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return "it refuses LIGHTRAG_API_KEY"
        return None if response.is_success else f"it answers with status {response.status_code}"

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
