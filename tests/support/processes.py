"""`mneme run` in a separate process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.starter import Program, start_mneme

ROOT = Path(__file__).parents[2]


def bot_environment(telegram: BotApiServer, model: ModelServer, *allowed: int) -> dict[str, str]:
    """Return the environment of a bot process with servers and allowed ids."""
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "TELEGRAM_BOT_TOKEN": BotApiServer.TOKEN,
        "TELEGRAM_API_URL": telegram.url,
        "TELEGRAM_ALLOWED_IDS": ",".join(map(str, allowed)),
        "OPENAI_BASE_URL": model.url,
        "LLM_MODEL": "scripted",
    }


@contextlib.asynccontextmanager
async def running_bot(environment: Mapping[str, str], folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start the bot in `folder` with its log there, and kill it at the end of the block."""
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=environment, stderr=log, cwd=folder
        )
        async with _killed_at_the_end(process):
            yield process


@contextlib.asynccontextmanager
async def forked_bot(environment: Mapping[str, str], folder: Path) -> AsyncIterator[Program]:
    """Start the bot by forking, for tests that don't measure startup or memory."""
    with (folder / "log").open("ab") as log:
        process = await start_mneme("run", environment=environment, file=log.fileno(), folder=folder)
        async with _killed_at_the_end(process):
            yield process


@contextlib.asynccontextmanager
async def _killed_at_the_end(process: asyncio.subprocess.Process | Program) -> AsyncIterator[None]:
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
