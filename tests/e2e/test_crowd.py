"""Tests of many chats at once."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from pathlib import Path

import pytest

from bot.telegram.preview import Pace
from config.process import limit_connections
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.serving import Serve, list_texts

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


async def test_command_is_answered_while_forty_answers_stream(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    chats = range(5001, 5041)
    model.otherwise = lambda _: Says("word " * 400)
    model.pace = 0.02
    async with serve(telegram_allowed_ids=",".join(map(str, [*chats, 6000]))):
        for chat in chats:
            telegram.user_says("tell me", chat_id=chat)
        await telegram.wait_for(lambda: len(model.requests) >= len(chats))
        # Which chats get the few previews first is chance.
        await telegram.wait_for(
            lambda: len({c.params["chat_id"] for c in telegram.list_calls("sendMessageDraft")}) >= 8
        )
        began = time.monotonic()
        shown = len(telegram.list_calls("sendMessageDraft"))
        telegram.user_says("/help", chat_id=6000)
        await telegram.wait_for(lambda: telegram.list_sent(6000))
        took = time.monotonic() - began
        shown = len(telegram.list_calls("sendMessageDraft")) - shown
    assert took < 2
    assert shown <= 12 * (took + 1)


def test_previews_are_spread_over_the_second() -> None:
    now = 0.0
    pace = Pace(per_second=10, now=lambda: now)
    allowed = []
    for step in range(200):
        now = step / 100
        allowed += [now] if pace.allows() else []
    assert 19 <= len(allowed) <= 21
    now = 100.0
    assert [pace.allows() for _ in range(5)].count(True) <= 2


def test_connections_are_limited_by_few_handles() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert limit_connections(1000) == 32
        assert limit_connections(8) == 8
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("handles", [64])
async def test_sixty_chats_are_answered_with_sixty_four_handles(
    telegram: BotApiServer, model: ModelServer, tmp_path: Path, handles: int
) -> None:
    chats = list(range(5001, 5061))
    model.thinking = 0.2
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "TELEGRAM_BOT_TOKEN": BotApiServer.TOKEN,
        "TELEGRAM_API_URL": telegram.url,
        "TELEGRAM_ALLOWED_IDS": ",".join(map(str, chats)),
        "OPENAI_BASE_URL": model.url,
        "LLM_MODEL": "scripted",
    }
    with (tmp_path / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", f'ulimit -n {handles}; exec "$0" -m bot run', sys.executable,
            env=environment, stderr=log, cwd=tmp_path,
        )  # fmt: skip
        try:
            await telegram.wait_for(lambda: telegram.polled)
            for _ in range(2):
                for chat in chats:
                    telegram.user_says("hello", chat_id=chat)
            await telegram.wait_for(
                lambda: all("hello" in str(list_texts(telegram, chat)) for chat in chats), timeout=60
            )
        finally:
            process.kill()
            await process.wait()
    assert b"open files" not in (tmp_path / "log").read_bytes()
