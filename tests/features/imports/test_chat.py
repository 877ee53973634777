"""Tests of imports in a Telegram chat: the progress, and the answer to an export that can't be imported."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from bot.features.imports import commands
from tests.features.imports.test_cases import CASES, EXPECTED
from tests.support import exports
from tests.support.bot_api.files import create_document
from tests.support.bot_api.server import BotApiServer
from tests.support.serving import ANN, Serve, list_texts, press

REFUSED = sorted(
    path.name.removesuffix(EXPECTED)
    for path in (CASES / "other").glob(f"*.json{EXPECTED}")
    if "refused" in json.loads(path.read_text(encoding="utf-8"))
)


@pytest.mark.parametrize("has_drafts", [True, False])
async def test_running_import_shows_its_progress_in_one_message(
    serve: Serve, telegram: BotApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_drafts: bool
) -> None:
    monkeypatch.setattr(commands, "PROGRESS_SECONDS", 0.0)
    telegram.supports.drafts = has_drafts
    file = exports.write_chatgpt(tmp_path, 1_000)
    async with serve():
        telegram.user_says(chat_id=ANN, sends=create_document("export.zip", file.read_bytes(), "application/zip"))
        await telegram.wait_for(lambda: "This is an export of ChatGPT" in "".join(list_texts(telegram)))
        sent = len(telegram.list_sent(ANN))
        press(telegram, "Import")
        await telegram.wait_for(lambda: "Imported from ChatGPT" in list_texts(telegram)[-1])
        shown = [str(call.params.get("text")) for call in telegram.calls]
        assert any("Importing: " in text and "of 1,000 messages" in text for text in shown)
        assert len(telegram.list_sent(ANN)) == sent + 1


async def test_export_of_unsupported_program_is_refused_with_advice(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        for name in REFUSED:
            content = (CASES / "other" / name).read_bytes()
            telegram.user_says(chat_id=ANN, sends=create_document(name, content, "application/json"))
            expected = json.loads((CASES / "other" / f"{name}{EXPECTED}").read_text(encoding="utf-8"))["refused"]
            await telegram.wait_for(partial(_was_said, telegram, expected))
            assert "nothing was imported" in list_texts(telegram)[-1]


def _was_said(telegram: BotApiServer, words: str) -> bool:
    return any(words in text for text in list_texts(telegram)[-1:])
