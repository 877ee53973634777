"""Use four third-party MCP servers as tools of the bot. npx and uvx download them on the first run.

`python -m tests.trials.mcp_trial FOLDER` creates a data directory in FOLDER, adds the presets with `mneme mcp add`, and
talks with the bot. A scripted model calls the tools. One of them reads a page from a web server on this machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from config.settings import Settings
from memory.clock import system_clock
from memory.messages import Provenance
from tests.support.fakes import Person
from tests.support.features import find_mcp_tools
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says

NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
PAGE = "<html><body><h1>The harbour</h1><p>Open daily from 9 to 17.</p></body></html>"


async def _mneme(*arguments: str) -> None:
    program = Path(sys.executable).with_name("mneme")
    process = await asyncio.create_subprocess_exec(str(program), *arguments)
    if await process.wait():
        raise SystemExit(f"mneme {' '.join(arguments)} has failed")


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one page, and SearXNG's JSON interface with one result. Other formats are forbidden, as by default."""
    request = (await reader.readuntil(b"\r\n\r\n")).decode()
    port = writer.get_extra_info("sockname")[1]
    target = urlsplit(request.split()[1])
    query = parse_qs(target.query)
    status, kind, body = "200 OK", "text/html", PAGE
    if target.path == "/search" and query.get("format") != ["json"]:
        status, body = "403 Forbidden", ""
    elif target.path == "/search" and "q" not in query:
        status, kind, body = "400 Bad Request", "application/json", json.dumps({"error": "No query"})
    elif target.path == "/search":
        kind, body = "application/json", json.dumps(_create_results(query["q"][0], f"http://127.0.0.1:{port}"))
    elif target.path != "/harbour.html":
        status, body = "404 Not Found", ""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write((head + body).encode())
    await writer.drain()
    writer.close()


def _create_results(query: str, address: str) -> dict[str, object]:
    """Return a response of SearXNG, in which one search engine has answered and one has refused."""
    result = {"title": "The harbour", "url": f"{address}/harbour.html", "content": "Open daily.", "engine": "mojeek"}
    empty: dict[str, object] = {"answers": [], "corrections": [], "infoboxes": [], "suggestions": []}
    refused = [["brave", "Suspended: too many requests"]]
    return {"query": query, "results": [result], **empty, "unresponsive_engines": refused}


async def _talk(folder: Path, page: str) -> None:
    from bot.app import open_app

    calls = [
        ("files__write_file", {"path": str(folder / "list.txt"), "content": "milk"}),
        ("files__read_text_file", {"path": str(folder / "list.txt")}),
        ("files__read_text_file", {"path": "/etc/passwd"}),
        ("memory__create_entities", {"entities": [{"name": "Ann", "entityType": "person", "observations": ["sails"]}]}),
        ("memory__search_nodes", {"query": "Ann"}),
        ("search__searxng_web_search", {"query": "harbour"}),
        ("pages__fetch", {"url": page}),
    ]
    async with ModelServer() as model:
        settings = Settings.model_validate({"openai_base_url": model.url, "llm_model": "scripted"})
        async with open_app(settings, system_clock) as app:
            person = Person(app)
            await asyncio.gather(*(connection.tried.wait() for connection in find_mcp_tools(app).connections))
            for state in find_mcp_tools(app).list_states():
                _tell(f"{state.name}: {state.trouble or f'{state.tools} tools'}")
            for name, arguments in calls:
                model.script(Calls(((name, arguments),)), Says("Done."))
                before = len(person.channel.asked)
                await person.sends(f"Please call {name}")
                ended = asyncio.create_task(app.runner.wait_until_idle(person.address.session_id))
                while not ended.done() and len(person.channel.asked) == before:  # noqa: ASYNC110  # either may come
                    await asyncio.sleep(0.05)
                how = "ran unasked"
                if len(person.channel.asked) > before:
                    await person.sends("/yes", provenance=Provenance.TYPED)
                    how = "asked first"
                await ended
                answer = next(
                    m["content"] for m in reversed(model.requests[-1].body["messages"]) if m["role"] == "tool"
                )
                _tell(f"{name} {how}: {' '.join(str(answer).split())[:160]}")


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def _run(folder: Path) -> None:
    shared = folder / "shared"
    shared.mkdir(parents=True, exist_ok=True)
    os.environ |= {"MNEME_DATA_DIR": str(folder / "data"), "TIMEZONE": "UTC"}
    web = await asyncio.start_server(_serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{web.sockets[0].getsockname()[1]}"
    await _mneme("mcp", "add", "--preset", "files", str(shared))
    # A server gets only the variables of its entry, so pass on the settings of uv and the network.
    known = [f"--env={name}=${{{name}}}" for name in os.environ if name.startswith("UV_") or name in NETWORK]
    await _mneme("mcp", "add", "--preset", "pages", *known, "--", "--allow-private-ips")
    await _mneme("mcp", "add", "--preset", "search", address)
    await _mneme(
        "mcp",
        "add",
        "memory",
        "--env",
        f"MEMORY_FILE_PATH={folder / 'graph.json'}",
        "--",
        "npx",
        "-y",
        "@modelcontextprotocol/server-memory@2026",
    )
    async with web:
        await _mneme("mcp", "test")
        await _talk(shared, f"{address}/harbour.html")
    _tell(json.dumps((shared / "list.txt").read_text()))


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1]).absolute()))
