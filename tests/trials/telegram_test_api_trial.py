"""Talk with the bot through a third-party Bot API: `python -m tests.trials.telegram_test_api_trial FOLDER`.

Run `npm install telegram-test-api` in FOLDER first. The trial needs node. It runs the real `mneme run` with that server
and a scripted model. A proxy adds the features of the Bot API that the server lacks. At the end the trial lists these
features and the unknown methods. The program fails if an answer lacks the expected text.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from tests.support.processes import running_bot
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.servers.web import Answer, Request, WebServer

LEARNED = (
    '{"history_entry": "They got to know each other.", "memory_update": null,'
    ' "facts": [{"subject": "home city", "fact": "The user lives in Kyiv.", "kind": "fact"}]}'
)
SCRIPT = (
    ("I live in Kyiv. I prefer short answers.", "Good to know!", "Noted: I live in Kyiv; I prefer short answers"),
    ("/new", None, "Learned: The user lives in Kyiv"),
    (
        "I moved from Kyiv to Lviv yesterday.",
        "I hope you like it there.",
        "Noted: The user lives in Lviv (was: The user lives in Kyiv",
    ),
    ("Where do I live?", "In Lviv.", "In Lviv."),
    ("/memory why", None, "1 memory was used for the last answer:"),
    ("/undo", None, "The user lives in Kyiv."),
)
"""The user's message, the model's reply (None for a command, which needs no model), and the expected text."""
TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
PERSON = 1001
SECONDS = 60
SERVER = """
const TelegramServer = require('telegram-test-api');
new TelegramServer({port: Number(process.argv[1]), host: '127.0.0.1', storeTimeout: 600}).start();
"""


class CompletingProxy:
    """Proxy to the server that completes its responses and counts the gaps in `lacks`."""

    def __init__(self, server: str) -> None:
        self._client = httpx.AsyncClient(base_url=server, timeout=SECONDS)
        self.lacks: Counter[str] = Counter()

    async def pass_on(self, request: Request) -> Answer:
        """Forward one call of the bot."""
        passed = await self._client.post(
            request.target, content=request.body, headers={"content-type": request.content_type}
        )
        method = request.target.rpartition("/")[2]
        answer = passed.json()
        if not answer.get("ok"):
            self.lacks[f"{method}: not known to it"] += 1
            refused = {"ok": False, "error_code": 404, "description": "Not Found: method not found"}
            return Answer(404, json.dumps(refused).encode())
        return Answer(200, json.dumps(answer | {"result": self._complete(method, answer["result"])}).encode())

    def _complete(self, method: str, result: Any) -> Any:  # As parsed JSON.
        if method == "getMe" and "is_bot" not in result:
            self.lacks["getMe: without is_bot"] += 1
            return result | {"is_bot": True}
        if method == "sendMessage":
            self.lacks["sendMessage: echoes its parameters, and the date in milliseconds, instead of a message"] += 1
            chat = {"id": PERSON, "type": "private", "first_name": "Ann"}
            return {key: result[key] for key in ("message_id", "text")} | {"date": result["date"] // 1000, "chat": chat}
        if result is None:
            self.lacks[f"{method}: no result"] += 1
            return True
        return result

    async def say(self, text: str) -> None:
        """Send a message as the person."""
        person = {"id": PERSON, "is_bot": False, "first_name": "Ann"}
        chat = {"id": PERSON, "type": "private", "first_name": "Ann"}
        await self._client.post(
            "/sendMessage",
            json={
                "botToken": TOKEN,
                "from": person,
                "chat": chat,
                "message_id": time.monotonic_ns() % 10**9,
                "date": int(time.time()),
                "text": text,
            },
        )

    async def wait_for_answer(self) -> str:
        """Return the text of the next message of the bot."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            found = (await self._client.post("/getUpdates", json={"token": TOKEN, "chatId": PERSON})).json()["result"]
            if found:
                return "\n\n".join(one["message"]["text"] for one in found)
            await asyncio.sleep(0.1)
        raise SystemExit("no: an answer came in time")

    async def close(self) -> None:
        await self._client.aclose()


@contextlib.asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    """Run the server of the package in `folder` and yield its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = int(listening.getsockname()[1])
    process = await asyncio.create_subprocess_exec("node", "-e", SERVER, str(port), cwd=folder)
    try:
        async with asyncio.timeout(SECONDS), httpx.AsyncClient() as client:
            while True:
                with contextlib.suppress(httpx.TransportError):
                    await client.get(f"http://127.0.0.1:{port}/")
                    break
                await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def run_steps(package: Path, data: Path) -> None:
    """Run all steps in order."""
    async with serving(package) as server, ModelServer() as model:
        model.consolidation = lambda _request: Says(LEARNED)
        model.script(*(Says(said) for _typed, said, _expected in SCRIPT if said is not None))
        between = CompletingProxy(server)
        web = WebServer(between.pass_on)
        await web.start()
        environment = os.environ | {
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_URL": f"http://127.0.0.1:{web.port}",
            "TELEGRAM_ALLOWED_IDS": str(PERSON),
            "OPENAI_BASE_URL": model.url,
            "LLM_MODEL": "scripted",
            "MNEME_DATA_DIR": str(data),
            "TIMEZONE": "UTC",
        }
        try:
            async with running_bot(environment, data):
                for typed, _said, expected in SCRIPT:
                    await between.say(typed)
                    _check(typed, await between.wait_for_answer(), expected)
        finally:
            await web.stop()
            await between.close()
    for what, times in sorted(between.lacks.items()):
        print(f"made up for, {times} times: {what}")  # noqa: T201  # a command


def _check(typed: str, answered: str, expected: str) -> None:
    print(f"> {typed}\n{answered}\n", flush=True)  # noqa: T201  # a command
    if expected not in answered:
        raise SystemExit(f"no: {expected}")


def main() -> None:
    """Run the trial with a temporary data directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where telegram-test-api is installed")
    with tempfile.TemporaryDirectory() as data:
        asyncio.run(run_steps(Path(parser.parse_args().folder).absolute(), Path(data)))


if __name__ == "__main__":
    main()
