"""A client for LightRAG, an optional server that keeps earlier exchanges as a knowledge graph."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime

import httpx
import structlog

from config.secrets import mask_secrets
from config.texts import N_, _
from memory.errors import MnemeError
from memory.messages import Passage, Provenance, find_least_trusted
from memory.text.validity import replace_invalid
from pipeline.models.endpoint import get_tls_context, is_on_this_machine

log = structlog.get_logger(__name__)

QUERY_TIMEOUT_SECONDS = 5.0
INDEX_TIMEOUT_SECONDS = 15.0
MIN_QUERY_CHARS = 3
"""LightRAG rejects shorter queries."""
PAGE_SIZE = 200
"""Number of documents per page of a listing. This is LightRAG's maximum."""
# The sources of Mneme's documents: session, turn and provenance.
_OURS = re.compile(r"mneme \S+ \d+ (?P<provenance>\w+)")
_NOT_FORGOTTEN = N_("LightRAG still has what I sent it: send /forget all confirm again later, or delete it there.")


class LightRagError(MnemeError):
    """Raised if LightRAG has not deleted Mneme's documents."""


class LightRag:
    """A LightRAG server. A failing query or update is logged and never fails the turn."""

    def __init__(self, url: str, api_key: str | None, mode: str) -> None:
        self._mode = mode
        headers = {"X-API-Key": api_key} if api_key else {}
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"), headers=headers, verify=get_tls_context(), trust_env=not is_on_this_machine(url)
        )

    async def index(self, session_id: str, turn: int, at: datetime, user: Passage, assistant: Passage) -> None:
        """Add one exchange. The source of the document records its provenance."""
        text = f"User{user.provenance.mark}: {user.text}\nAssistant{assistant.provenance.mark}: {assistant.text}"
        provenance = find_least_trusted([user.provenance, assistant.provenance])
        document = {
            "text": f"[{at:%Y-%m-%d %H:%M}]\n{mask_secrets(text)}",
            "file_source": f"mneme {session_id} {turn} {provenance}",
        }
        try:
            response = await self._client.post("/documents/text", json=document, timeout=INDEX_TIMEOUT_SECONDS)
            response.raise_for_status()
        except httpx.HTTPError as error:
            log.warning("lightrag_index_failed", error=str(error) or type(error).__name__)

    async def query(self, question: str) -> Passage:
        """Return what the graph knows about a question. Empty if it knows nothing or can't be reached."""
        query = mask_secrets(question)
        if len(query.strip()) < MIN_QUERY_CHARS:
            return Passage("")
        try:
            # The client's timeout limits each read, not the whole response.
            async with asyncio.timeout(QUERY_TIMEOUT_SECONDS):
                response = await self._client.post(
                    "/query",
                    json={"query": query, "mode": self._mode, "only_need_context": True, "enable_rerank": False},
                    timeout=QUERY_TIMEOUT_SECONDS,
                )
            response.raise_for_status()
            answer = response.json()
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            log.warning("lightrag_query_failed", error=str(error) or type(error).__name__)
            return Passage("")
        result = answer.get("response") if isinstance(answer, dict) else None
        # LightRAG answers `[no-context]` if it found nothing.
        if not isinstance(result, str) or "[no-context]" in result:
            return Passage("")
        return Passage(replace_invalid(result.strip()), _find_origin(answer.get("references")))

    async def forget(self) -> None:
        """Delete every document that Mneme sent. Raises LightRagError if that fails."""
        try:
            ids = [
                document["id"]
                for document in await self.list_documents()
                if _OURS.fullmatch(str(document.get("file_path")))
            ]
            if not ids:
                return
            # LightRAG deletes in the background, and refuses while it is busy.
            body = {"doc_ids": ids, "delete_file": False, "delete_llm_cache": True}
            response = await self._client.request(
                "DELETE", "/documents/delete_document", json=body, timeout=INDEX_TIMEOUT_SECONDS
            )
            response.raise_for_status()
            status = response.json().get("status")
        except (httpx.HTTPError, ValueError, KeyError, AttributeError, TypeError) as error:
            log.warning("lightrag_forget_failed", error=str(error) or type(error).__name__)
            raise LightRagError(_(_NOT_FORGOTTEN)) from error
        if status != "deletion_started":
            log.warning("lightrag_forget_failed", error=f"it answers {status}")
            raise LightRagError(_(_NOT_FORGOTTEN))

    async def list_documents(self) -> list[dict[str, object]]:
        results: list[dict[str, object]] = []
        more, page = True, 0
        while more:
            page += 1
            listing = {"page": page, "page_size": PAGE_SIZE}
            response = await self._client.post("/documents/paginated", json=listing, timeout=INDEX_TIMEOUT_SECONDS)
            response.raise_for_status()
            answer = response.json()
            results += answer["documents"]
            more = bool(answer["pagination"]["has_next"])
        return results

    async def check(self) -> str | None:
        """Return the reason why the server can't be used, or None if it works."""
        try:
            # /health needs no key, so it would not reveal a wrong one.
            response = await self._client.get("/documents/pipeline_status", timeout=QUERY_TIMEOUT_SECONDS)
        except httpx.HTTPError as error:
            return f"it can't be reached ({str(error) or type(error).__name__})"
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return "it refuses LIGHTRAG_API_KEY"
        return None if response.is_success else f"it answers with status {response.status_code}"

    async def close(self) -> None:
        await self._client.aclose()


def _find_origin(references: object) -> Provenance:
    # Other programs may have added documents to the graph.
    if not isinstance(references, list) or not references:
        return Provenance.FOREIGN
    sources = [str(reference.get("file_path")) if isinstance(reference, dict) else "" for reference in references]
    return find_least_trusted(_parse_provenance(source) for source in sources)


def _parse_provenance(source: str) -> Provenance:
    ours = _OURS.fullmatch(source)
    is_known = ours is not None and ours["provenance"] in set(Provenance)
    return Provenance(ours["provenance"]) if ours is not None and is_known else Provenance.FOREIGN
