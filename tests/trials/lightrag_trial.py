"""Test the LightRAG client with a real lightrag-server: `python -m tests.trials.lightrag_trial SERVER`.

SERVER is the program of the package `lightrag-hku[api]`, installed in a separate environment. This module scripts its
models: embeddings count the words of a text, and extraction returns the known names in it. The server also needs
tiktoken's encoding, which it downloads or reads from TIKTOKEN_CACHE_DIR. Each line of output is a condition that the
bot relies on, with the seconds it took. The program fails if a condition is not met.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import math
import os
import re
import socket
import struct
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from bot.features.lightrag.client import LightRag
from memory.messages import Passage, Provenance
from tests.support.servers.web import Answer, Request, WebServer

KEY = "graph-key"
DIMENSIONS = 256
SECONDS = 90
"""Timeout for starting the server and for indexing or deleting documents."""
MODES = ("local", "global", "hybrid", "naive", "mix")
AT = datetime(2026, 2, 7, 12, 15, tzinfo=UTC)
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\b(?:Murka|Kolibri|Zanzibar)\b")


async def answer_as_models(request: Request) -> Answer:
    """Return the scripted models' answers: embeddings, keywords of a question, or entities of a text."""
    body = json.loads(request.body)
    if request.target.endswith("/embeddings"):
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = [_compute_embedding(text) for text in texts]
        if body.get("encoding_format") == "base64":
            shown: list[object] = [base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() for v in vectors]
        else:
            shown = [*vectors]
        each = [{"object": "embedding", "index": number, "embedding": one} for number, one in enumerate(shown)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return Answer(200, json.dumps({"object": "list", "model": "words", "data": each, "usage": usage}).encode())
    asked = "\n".join(str(message["content"]) for message in body["messages"])
    message = {"role": "assistant", "content": _answer_chat(asked)}
    answer = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return Answer(200, json.dumps(answer).encode())


def _answer_chat(asked: str) -> str:
    if "high_level_keywords" in asked:
        names = sorted(set(_NAME.findall(asked.partition("User Query:")[2])))
        return json.dumps({"high_level_keywords": ["pets"], "low_level_keywords": names})
    text = asked.rpartition("---Input Text---")[2]
    names = sorted(set(_NAME.findall(text)))
    entities = [f"entity<|#|>{name}<|#|>Other<|#|>{name} is known to the user" for name in ("User", *names)]
    relations = [f"relation<|#|>User<|#|>{name}<|#|>pets<|#|>The user knows {name}" for name in names]
    return "\n".join([*entities, *relations, "<|COMPLETE|>"])


def _compute_embedding(text: str) -> list[float]:
    counted = [0.0] * DIMENSIONS
    for word in _WORD.findall(text.lower()):
        counted[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in counted)) or 1.0
    return [value / length for value in counted]


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextlib.asynccontextmanager
async def serving(program: str, folder: Path, models: int) -> AsyncIterator[str]:
    """Run a lightrag-server with the scripted models and yield its address."""
    port = _free_port()
    address = f"http://127.0.0.1:{models}/v1"
    known = {name: os.environ[name] for name in ("PATH", "HOME", "TIKTOKEN_CACHE_DIR") if name in os.environ}
    environment = known | {
        "LLM_BINDING": "openai",
        "LLM_BINDING_HOST": address,
        "LLM_BINDING_API_KEY": "none",
        "LLM_MODEL": "scripted",
        "EMBEDDING_BINDING": "openai",
        "EMBEDDING_BINDING_HOST": address,
        "EMBEDDING_BINDING_API_KEY": "none",
        "EMBEDDING_MODEL": "words",
        "EMBEDDING_DIM": str(DIMENSIONS),
        "COSINE_THRESHOLD": "0.05",
        "LIGHTRAG_API_KEY": KEY,
    }
    (folder / ".env").touch()  # without one it asks whether to go on
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program, "--host", "127.0.0.1", "--port", str(port), cwd=folder, env=environment, stdout=log, stderr=log
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


async def wait_for(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition and print it, or exit if it fails in time."""
    started = time.monotonic()
    while not await holds():
        if time.monotonic() - started > SECONDS:
            raise SystemExit(f"no: {what}")
        await asyncio.sleep(0.5)
    print(f"{time.monotonic() - started:5.1f} s  {what}", flush=True)  # noqa: T201  # a command


async def run_steps(program: str, folder: Path) -> None:
    """Run all steps in order."""
    models = WebServer(answer_as_models)
    await models.start()
    try:
        async with serving(program, folder, models.port) as address:
            graph, stranger = LightRag(address, KEY, "mix"), LightRag(address, "wrong", "mix")
            try:
                await _check_graph(graph, stranger, address)
            finally:
                await graph.close()
                await stranger.close()
    finally:
        await models.stop()
    if models.crashes:
        raise SystemExit(f"the scripted models failed: {models.crashes[0]!r}")


async def _check_graph(graph: LightRag, stranger: LightRag, address: str) -> None:
    async def answers() -> bool:
        return await graph.check() is None

    await wait_for("the server starts and accepts the key", answers)

    async def refuses() -> bool:
        return await stranger.check() == "it refuses LIGHTRAG_API_KEY"

    await wait_for("a wrong key is reported as such", refuses)
    yes = Passage("I see.")
    await graph.index("telegram:1001", 1, AT, Passage("My cat is called Murka", Provenance.TYPED), yes)
    await graph.index("telegram:-100500:7", 2, AT, Passage("My boat is Kolibri", Provenance.TYPED), yes)
    await graph.index("telegram:1001", 3, AT, Passage("Zanzibar is hot", Provenance.FORWARDED), yes)

    async def indexed() -> bool:
        documents = await graph.list_documents()
        return len(documents) == 3 and all(one["status"] == "processed" for one in documents)

    await wait_for("three exchanges of two chats are indexed", indexed)
    for mode in MODES:
        asking = LightRag(address, KEY, mode)

        async def knows(asking: LightRag = asking) -> bool:
            return "Murka" in (await asking.query("Who is my cat Murka?")).text

        try:
            await wait_for(f"{mode}: the exchange is found", knows)
        finally:
            await asking.close()

    async def origins() -> bool:
        foreign = await graph.query("How hot is Zanzibar?")
        return "Zanzibar" in foreign.text and foreign.provenance.is_foreign

    await wait_for("a forwarded text is marked as forwarded", origins)

    async def forgotten() -> bool:
        with contextlib.suppress(Exception):  # The server refuses requests while it deletes in the background.
            await graph.forget()
        return not await graph.list_documents()

    await wait_for("all documents are deleted", forgotten)

    async def silent() -> bool:
        return "Murka" not in (await graph.query("Who is my cat Murka?")).text

    await wait_for("deleted text is no longer found", silent)


def main() -> None:
    """Run the trial in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", help="the program lightrag-server")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run_steps(str(Path(parser.parse_args().server).absolute()), Path(folder)))


if __name__ == "__main__":
    main()
