"""Tests of logs: readable or JSON, with their turn, and without secrets."""

from __future__ import annotations

import json
import logging

import httpx
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from config.logs import configure_logging
from config.secrets import mask_in_log_line

TOKEN = "123456789:AAFabcdefghijklmnopqrstuvwxyz0123456"
KEY = "sk-proj-abcdefghijklmnop1234"
STYLES = pytest.mark.parametrize("style", ["json", "console"])


pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"https://api.telegram.org/bot{TOKEN}/getMe", "https://api.telegram.org/bot[secret]/getMe"),
        (f"the token {TOKEN}!", "the token [secret]!"),
        ("http://localhost/bot123456:short-token/getMe", "http://localhost/bot[secret]/getMe"),
        (f"key {KEY}, you know", "key [secret], you know"),
        ("Authorization: Bearer abcdefgh12345678==", "Authorization: Bearer [secret]"),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic [secret]"),
        ("{'authorization': 'Bearer abcdefgh12345'}", "{'authorization': 'Bearer [secret]'}"),
        ("(b'Authorization', b'Bearer abcdefgh12345')", "(b'Authorization', b'Bearer [secret]')"),
        ('{"X-API-Key": "0123456789abcdef"}', '{"X-API-Key": "[secret]"}'),
        ("LIGHTRAG_API_KEY=0123456789abcdef", "LIGHTRAG_API_KEY=[secret]"),
        ("TELEGRAM_WEBHOOK_SECRET='open-sesame'", "TELEGRAM_WEBHOOK_SECRET='[secret]'"),
        ("X-Telegram-Bot-Api-Secret-Token: open-sesame", "X-Telegram-Bot-Api-Secret-Token: [secret]"),
        ("https://host/v1?access_token=abcdef&x=1", "https://host/v1?access_token=[secret]&x=1"),
        ("http://olena:hunter2@proxy:3128/", "http://[secret]@proxy:3128/"),
    ],
)
def test_tokens_and_keys_are_masked(text: str, shown: str) -> None:
    assert mask_in_log_line(text) == shown
    assert mask_in_log_line(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "turn finished in 12:15:30, 1234567 tokens: fine",
        "http://localhost:8080/v1 is out of reach",
        "OPENAI_API_KEY or OPENAI_BASE_URL is needed",
        "task-123 risk-averse, the bearer of news",
        "session telegram:12345:9, archive-2026-02-07-docker-health-checks",
    ],
)
def test_harmless_text_is_unchanged(text: str) -> None:
    assert mask_in_log_line(text) == text


@given(st.text(), st.text())
def test_json_stays_valid_when_secrets_are_masked(before: str, after: str) -> None:
    said = f'{before} "Authorization": "Bearer {KEY}" {TOKEN} {after}'
    line = mask_in_log_line(json.dumps({"event": said}))
    assert TOKEN not in line
    assert KEY not in line
    json.loads(line)


@STYLES
def test_secrets_in_events_messages_and_tracebacks_are_redacted(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("debug", style)
    log = structlog.get_logger("mneme")
    log.info("asked", url=f"https://api.telegram.org/bot{TOKEN}/getMe", key=KEY)
    logging.getLogger("some.library").warning("sent %s", {"Authorization": f"Bearer {KEY}"})
    try:
        raise ConnectionError(f"https://api.telegram.org/bot{TOKEN}/getMe is out of reach")
    except ConnectionError:
        log.exception("failed")
        logging.getLogger("some.library").exception("failed too")
    shown = capsys.readouterr().err
    assert shown.count("[secret]") >= 5
    assert TOKEN not in shown
    assert KEY not in shown
    assert shown.count("Traceback (most recent call last)") == 2


@STYLES
def test_traceback_contains_no_messages(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", style)

    def answer(text: str) -> None:
        raise LookupError("no answer")

    try:
        answer("".join(["my diary", " is private"]))
    except LookupError:
        structlog.get_logger("mneme").exception("turn_failed")
    shown = capsys.readouterr().err
    assert "no answer" in shown
    assert "my diary is private" not in shown


@STYLES
@pytest.mark.parametrize("level", ["debug", "info"])
def test_libraries_that_name_urls_are_silent_below_warnings(
    style: str, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(level, style)
    with httpx.Client(transport=httpx.MockTransport(lambda _request: httpx.Response(200))) as client:
        client.get(f"https://api.telegram.org/bot{TOKEN}/getUpdates")
    for name in ("telegram.ext.Updater", "httpcore.connection", "apscheduler.scheduler", "openai._base_client"):
        logging.getLogger(name).info("every step")
    assert capsys.readouterr().err == ""
    logging.getLogger("telegram.ext.Updater").warning("worth knowing")
    assert "worth knowing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_level_shows_itself_and_higher_ones(level: str, shown: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(level, "json")
    for name in ("debug", "info", "warning", "error"):
        getattr(structlog.get_logger("mneme"), name)("said")
        getattr(logging.getLogger("library"), name)("said")
    lines = [json.loads(line)["level"] for line in capsys.readouterr().err.splitlines()]
    assert lines == [name for name in shown for _ in range(2)]


def test_chatty_libraries_respect_the_error_level(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("error", "json")
    logging.getLogger("httpx").warning("not an error")
    assert capsys.readouterr().err == ""


def test_output_without_a_terminal_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "auto")
    structlog.get_logger("mneme").info("пуск", chats=2)
    logging.getLogger("some.library").warning("hello %s", "there")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["event"], first["level"], first["chats"]) == ("пуск", "info", 2)
    assert (second["event"], second["level"]) == ("hello there", "warning")
    assert first["timestamp"].endswith("Z")


@STYLES
def test_lines_of_a_turn_carry_its_id(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", style)
    with structlog.contextvars.bound_contextvars(turn="ab12cd34"):
        structlog.get_logger("mneme").info("inside")
        logging.getLogger("some.library").warning("inside too")
    structlog.get_logger("mneme").info("outside")
    inside, too, outside = capsys.readouterr().err.splitlines()
    assert "ab12cd34" in inside
    assert "ab12cd34" in too
    assert "ab12cd34" not in outside


def test_configuring_twice_logs_each_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json")
    configure_logging("info", "json")
    structlog.get_logger("mneme").info("once")
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_standard_output_stays_empty(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("debug", "console")
    structlog.get_logger("mneme").info("for the log")
    assert capsys.readouterr().out == ""
