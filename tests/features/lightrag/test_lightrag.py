"""Tests of LightRAG: exchanges are sent, its knowledge is used, and its failures have no effect."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.features.lightrag.client import LightRag
from config.errors import ConfigurationError
from pipeline.prompt.prompts import RELEVANT_HEADER
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.servers.web import Answer, Request, Streamed, WebServer, drip
from tests.support.talk import note_down


class LightRagServer:
    """Server like LightRAG: an API key, adding, listing and deleting of documents, and POST /query."""

    def __init__(self) -> None:
        self.documents: list[dict[str, str]] = []
        self.queries: list[dict[str, object]] = []
        self.context: object = ""
        self.status = 200
        self.kept: dict[str, str] = {}
        self.busy = False
        self.drips = False
        self.web = WebServer(self._handle)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.web.port}/"

    async def _handle(self, request: Request) -> Answer | Streamed | None:
        if self.status == 0:
            return None
        if self.status != 200:
            return Answer(self.status, b"trouble", content_type="text/plain")
        if request.target == "/health":
            return Answer(200, b'{"status": "healthy"}')
        if request.header("x-api-key") != "graph-key":
            return Answer(403, b'{"detail": "Invalid API Key"}')
        if request.target == "/documents/pipeline_status":
            return Answer(200, b'{"busy": false}')
        return self._answer_api(request, json.loads(request.body))

    def _answer_api(self, request: Request, body: dict[str, Any]) -> Answer | Streamed:
        if request.target == "/documents/paginated":
            assert 10 <= body["page_size"] <= 200
            start = (body["page"] - 1) * body["page_size"]
            shown = list(self.kept.items())[start : start + body["page_size"]]
            listing = {
                "documents": [{"id": key, "file_path": source, "status": "processed"} for key, source in shown],
                "pagination": {"page": body["page"], "has_next": start + body["page_size"] < len(self.kept)},
            }
            return Answer(200, json.dumps(listing).encode())
        if request.target == "/documents/delete_document":
            if not self.busy:
                for key in body["doc_ids"]:
                    del self.kept[key]
            status = "busy" if self.busy else "deletion_started"
            return Answer(200, json.dumps({"status": status, "message": "", "doc_id": ""}).encode())
        if request.target == "/documents/text":
            self.documents.append(body)
            self.kept[f"doc-{len(self.kept)}"] = body["file_source"]
            return Answer(200, b'{"status": "success", "message": "Text successfully received."}')
        assert request.target == "/query"
        assert len(body["query"]) >= 3
        self.queries.append(body)
        if self.drips:
            return Streamed(drip(), "application/json")
        return Answer(200, json.dumps(self.context).encode())


@pytest.fixture
async def graph() -> AsyncIterator[LightRagServer]:
    server = LightRagServer()
    await server.web.start()
    yield server
    await server.web.stop()
    assert server.web.crashes == []


@pytest.fixture
def start_beside(start: OpenApp, graph: LightRagServer) -> OpenApp:
    """Open an App that uses the LightRAG server."""

    def opened(window: int | None = None, **settings: object) -> object:
        settings = {"lightrag_url": graph.url, "lightrag_api_key": "graph-key", "memory_scope": "shared"} | settings
        return start(window, **settings)

    return opened  # type: ignore[return-value]  # It returns what `start` returns.


async def test_answered_exchange_is_indexed(start_beside: OpenApp, graph: LightRagServer) -> None:
    async with start_beside() as app:
        await Person(app).says("My cat is called Murka")
    assert graph.documents == [
        {
            "text": "[2026-02-07 12:15]\nUser: My cat is called Murka\nAssistant: You said: My cat is called Murka",
            "file_source": "mneme console:local 1 typed",
        }
    ]


async def test_graph_context_is_added_after_the_message(
    start_beside: OpenApp, graph: LightRagServer, model: ModelServer
) -> None:
    graph.context = {"response": "Murka is a cat.\n"}
    async with start_beside(lightrag_mode="hybrid") as app:
        await Person(app).says("Who is Murka?")
    assert model.requests[0].last == "Who is Murka?"
    assert model.requests[0].added == f"{RELEVANT_HEADER}\nMurka is a cat.\n\nNow: Saturday 2026-02-07 12:15"
    assert graph.queries == [
        {"query": "Who is Murka?", "mode": "hybrid", "only_need_context": True, "enable_rerank": False}
    ]


async def test_graph_context_is_not_kept_in_history(
    start_beside: OpenApp, graph: LightRagServer, model: ModelServer
) -> None:
    async with start_beside() as app:
        graph.context = {"response": "Murka is a cat."}
        await Person(app).says("Who is Murka?")
        graph.context = {"response": ""}
        await Person(app).says("Thank you")
    assert "Murka is a cat." not in model.requests[1].prompt


async def test_long_graph_context_is_cut(start_beside: OpenApp, graph: LightRagServer, model: ModelServer) -> None:
    graph.context = {"response": "Murka is a cat. " * 5_000}
    async with start_beside() as app:
        await Person(app).says("Who is Murka?")
    assert "characters left out" in model.requests[0].messages[1]["content"]
    assert len(model.requests[0].messages[1]["content"]) < 6_000


@pytest.mark.parametrize(
    "context",
    [
        {"response": "Sorry, I'm not able to provide an answer to that question.[no-context]"},
        {"response": None},
        {"response": ["a", "list"]},
        {},
        [],
        "text",
        None,
    ],
)
async def test_empty_graph_context_adds_nothing(
    start_beside: OpenApp, graph: LightRagServer, model: ModelServer, context: object
) -> None:
    graph.context = context
    async with start_beside() as app:
        assert await Person(app).says("Who is Murka?") == "You said: Who is Murka?"
    assert "# Relevant Memory" not in model.requests[0].messages[1]["content"]


@pytest.mark.parametrize("status", [0, 403, 404, 500])
async def test_failing_graph_never_fails_a_turn(start_beside: OpenApp, graph: LightRagServer, status: int) -> None:
    graph.status = status
    async with start_beside() as app:
        assert await Person(app).says("Who is Murka?") == "You said: Who is Murka?"
        assert await app.sessions.count_messages("console:local") == 2


async def test_unreachable_graph_never_fails_a_turn(start_beside: OpenApp, graph: LightRagServer) -> None:
    async with start_beside() as app:
        await graph.web.stop()
        assert await Person(app).says("Who is Murka?") == "You said: Who is Murka?"


async def test_endless_graph_answer_is_ended_by_the_timeout(
    start_beside: OpenApp, graph: LightRagServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.features.lightrag.client.QUERY_TIMEOUT_SECONDS", 0.3)
    graph.drips = True
    async with start_beside() as app:
        assert await Person(app).says("Who is Murka?") == "You said: Who is Murka?"
    assert len(graph.queries) == 1


async def test_wrong_key_is_reported_although_health_is_public(graph: LightRagServer) -> None:
    for key, trouble in (("graph-key", None), ("wrong", "it refuses LIGHTRAG_API_KEY")):
        client = LightRag(graph.url, key, "mix")
        assert await client.check() == trouble
        await client.close()


async def test_text_too_short_for_the_graph_is_not_queried(start_beside: OpenApp, graph: LightRagServer) -> None:
    async with start_beside() as app:
        await Person(app).says("Hi")
    assert graph.queries == []
    assert len(graph.documents) == 1


async def test_private_talk_is_neither_queried_nor_indexed(start_beside: OpenApp, graph: LightRagServer) -> None:
    async with start_beside() as app:
        person = Person(app)
        await person.says("/private")
        await person.says("My cat is called Murka")
        assert (graph.queries, graph.documents) == ([], [])
        await person.says("/new")
        await person.says("My dog is called Sirko")
    assert (len(graph.queries), len(graph.documents)) == (1, 1)


async def test_failed_turn_is_not_indexed(start_beside: OpenApp, graph: LightRagServer) -> None:
    async with start_beside() as app:
        await Person(app).says(" ")
    assert graph.documents == []


async def test_graph_without_shared_memory_is_refused(start_beside: OpenApp) -> None:
    with pytest.raises(ConfigurationError, match="LIGHTRAG_URL needs MEMORY_SCOPE=shared"):
        async with start_beside(memory_scope="chat"):
            pass


async def test_chats_share_their_memory_with_a_graph(start_beside: OpenApp, model: ModelServer) -> None:
    from memory.log.sessions import Address

    async with start_beside() as app:
        await note_down(app, "I like tea", "shared")
        await Person(app, Address("telegram", "7")).says("What do I like?")
    assert "- I like tea" in model.requests[-1].system()


async def test_forget_all_deletes_only_documents_of_mneme(start_beside: OpenApp, graph: LightRagServer) -> None:
    graph.kept = {f"theirs-{number}": f"paper-{number}.pdf" for number in range(250)}
    async with start_beside() as app:
        person = Person(app)
        await person.says("My cat is called Murka")
        assert "mneme console:local 1 typed" in graph.kept.values()
        assert "Everything is forgotten" in await person.says("/forget all confirm")
    assert len(graph.kept) == 250
    assert all(source.startswith("paper-") for source in graph.kept.values())


@pytest.mark.parametrize("trouble", ["busy", "down"])
async def test_documents_left_after_forget_all_are_reported(
    start_beside: OpenApp, graph: LightRagServer, trouble: str
) -> None:
    async with start_beside() as app:
        person = Person(app)
        await person.says("My cat is called Murka")
        graph.busy, graph.status = trouble == "busy", 500 if trouble == "down" else 200
        said = await person.says("/forget all confirm")
        assert "LightRAG still has what I sent it" in said
        assert await app.database.value("SELECT count(*) FROM messages") == 0


async def test_graph_without_memory_is_unused_but_still_erased(start_beside: OpenApp, graph: LightRagServer) -> None:
    async with start_beside() as app:
        await Person(app).says("My cat is called Murka")
    asked = len(graph.queries)
    async with start_beside(memory_enabled=False) as app:
        person = Person(app)
        await person.says("Who is Murka?")
        assert (len(graph.queries), len(graph.documents)) == (asked, 1)
        await person.says("/forget all confirm")
    assert graph.kept == {}


@pytest.mark.parametrize(
    ("references", "trusted"),
    [
        ([{"reference_id": "1", "file_path": "mneme console:local 1 typed"}], True),
        ([{"reference_id": "1", "file_path": "mneme console:local 1 forwarded"}], False),
        ([{"file_path": "mneme console:local 1 typed"}, {"file_path": "paper.pdf"}], False),
        ([], False),
        (None, False),
    ],
)
async def test_graph_context_confirms_facts_only_from_typed_documents(
    start_beside: OpenApp, graph: LightRagServer, model: ModelServer, references: object, *, trusted: bool
) -> None:
    graph.context = {"response": "Murka is a striped cat.", "references": references}
    model.script(Calls((("memory_learn", {"fact": "Murka is a striped cat"}),)), Says("Done."))
    async with start_beside() as app:
        await Person(app).says("Who is Murka?")
    last = model.requests[-1].last
    assert last.startswith("saved the fact") if trusted else "not confirmed" in last
