"""Property tests of the readers: in each format, the export of a random conversation is read as that conversation."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from babel import Locale
from babel.dates import parse_pattern
from babel.localedata import locale_identifiers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.features.imports import html_child
from bot.features.imports.chatgpt import ChatGptReader
from bot.features.imports.claude import ClaudeReader
from bot.features.imports.date_words import load_locale
from bot.features.imports.gemini import GeminiReader
from bot.features.imports.gemini_html import GeminiHtmlReader
from bot.features.imports.items import ImportedConversation
from bot.features.imports.opening import open_source
from bot.features.imports.pages import PageReader
from bot.features.imports.source import Reader
from bot.features.imports.telegram import TelegramReader
from bot.features.imports.telegram_html import TelegramHtmlReader
from bot.features.imports.whatsapp import WhatsAppReader

ZONE = ZoneInfo("UTC")
TODAY = date(2026, 11, 1)
READERS: Sequence[Reader] = (
    ChatGptReader(),
    ClaudeReader(),
    TelegramReader(ZONE),
    TelegramHtmlReader(ZONE),
    GeminiReader(),
    GeminiHtmlReader(ZONE, TODAY),
    WhatsAppReader(ZONE, TODAY),
)
ZEROS = "0٠۰०০၀"
"""The digit 0 in each script that phones use for digits."""
UNUSUAL = frozenset({"blo", "ebu", "ee", "kl", "la", "oc", "smn", "tok", "wo"})
"""Languages with words for the halves of the day that others use for the other half, or with other texts in dates."""
MessageTuple = tuple[str, datetime, str]
"""The speaker, time and text of a message."""

fast = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
letters = st.characters(categories=["Lu", "Ll", "Lo"])
# WhatsApp writes "null" for a photo that can be viewed only once.
words = st.text(letters, min_size=1, max_size=8).filter("null".__ne__)
names = st.lists(st.text(letters, min_size=2, max_size=8), min_size=1, max_size=3).map(" ".join)
lines = st.lists(words | st.sampled_from(["7", "3 pm", "a: b", "🙂", "x@y"]), min_size=1, max_size=5).map(" ".join)
texts = st.lists(lines, min_size=1, max_size=3).map("\n".join).filter(lambda text: not re.match(r"\d|.*: ", text))


@st.composite
def conversations(draw: st.DrawFn, first: int = 2010, seconds: bool = True) -> list[MessageTuple]:
    """Return messages of up to three people in chronological order. The last is of the 31st of a month."""
    people = draw(st.lists(names, min_size=1, max_size=3, unique_by=lambda name: name.partition(" ")[0].casefold()))
    year = draw(st.integers(first, 2025))
    moment = datetime(year, draw(st.integers(1, 12)), draw(st.integers(1, 28)), draw(st.integers(0, 23)), 5, tzinfo=UTC)
    said: list[MessageTuple] = []
    for _number in range(draw(st.integers(0, 6))):
        moment += timedelta(minutes=draw(st.integers(0, 3_000)), seconds=draw(st.integers(0, 59)) if seconds else 0)
        said.append((draw(st.sampled_from(people)), moment, draw(texts)))
    end = datetime(moment.year, 12, 31, draw(st.integers(0, 23)), draw(st.integers(0, 59)), tzinfo=UTC)
    if end >= moment:
        said.append((people[0], end, draw(texts)))
    return said or [(people[0], end, "hello")]


@pytest.fixture(autouse=True, scope="module")
def _read_pages_here() -> Iterator[None]:
    """Read pages in this process. Other tests check the child process, which takes a tenth of a second to start."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PageReader, "read", lambda _self, form, page: html_child.read_page(form, page))
        yield


def read(path: Path) -> list[MessageTuple]:
    """Return the items of a file, which exactly one reader recognises."""
    with open_source(path) as source:
        ((reader, parts),) = [(reader, found) for reader in READERS if (found := reader.find(source))]
        items = list(reader.read(source, parts))
    messages = [message for item in items if isinstance(item, ImportedConversation) for message in item.messages]
    assert all(isinstance(item, ImportedConversation) for item in items)
    return [("assistant" if m.by_assistant else m.speaker or "user", m.at.astimezone(UTC), m.text) for m in messages]


def alternate(said: Sequence[MessageTuple]) -> list[MessageTuple]:
    """Return a conversation of the user and an assistant with the same texts."""
    return [("assistant" if index % 2 else "user", at, text) for index, (_name, at, text) in enumerate(said)]


@cache
def list_formats() -> list[tuple[str, str, str, str]]:
    """Return each language and region with a date format, a time format and the text between them."""
    formats = []
    for identifier in sorted(locale_identifiers()):
        locale = Locale.parse(identifier)
        if locale.language in UNUSUAL or locale.script in ("Shaw", "Adlm", "Nkoo"):
            continue
        dates = {str(locale.date_formats["short"].pattern), str(locale.datetime_skeletons["yMd"].pattern)}
        for day in sorted(dates):
            order = "".join(dict.fromkeys(re.sub(r"[^yMd]", "", day)))
            for skeleton in ("hm", "Hm", "hms", "Hms"):
                time = str(locale.datetime_skeletons[skeleton].pattern)
                is_complete = "H" in time or "a" in time
                if order in ("dMy", "Mdy", "yMd") and is_complete and "G" not in day and "'" not in time:
                    formats.append((identifier, day, time, str(locale.datetime_formats["short"])))
    return formats


@fast
@given(data=st.data())
def test_whatsapp_chat_in_any_locale_is_read_exactly(tmp_path: Path, data: st.DataObject) -> None:
    identifier, day, time, both = data.draw(st.sampled_from(list_formats()))
    is_iphone = "s" in time
    said = data.draw(conversations(seconds=is_iphone))
    zero = ord(data.draw(st.sampled_from(ZEROS)))
    digits = {ord("0") + value: chr(zero + value) for value in range(10)}
    locale, written = Locale.parse(identifier), []
    for name, at, text in said:
        parts = [parse_pattern(pattern).apply(at, locale) for pattern in (time, day)]
        header = both.replace("{0}", parts[0]).replace("{1}", parts[1]).translate(digits)
        written.append(f"[{header}] {name}: {text}" if is_iphone else f"{header} - {name}: {text}")
    path = tmp_path / "_chat.txt"
    path.write_text("\r\n".join(written), encoding="utf-8", newline="")
    assert read(path) == said


@pytest.mark.parametrize("is_account", [False, True])
@fast
@given(said=conversations())
def test_telegram_chat_is_read_exactly(tmp_path: Path, is_account: bool, said: list[MessageTuple]) -> None:
    messages = [
        {
            "id": number,
            "type": "message",
            "date": at.strftime("%Y-%m-%dT%H:%M:%S"),
            "date_unixtime": str(int(at.timestamp())),
            "from": name,
            "from_id": f"user{name}",
            "text": [text[:1], {"type": "bold", "text": text[1:]}],
        }
        for number, (name, at, text) in enumerate(said)
    ]
    chat = {"name": "x", "type": "private_group", "id": 7, "messages": messages}
    account = {"personal_information": {"user_id": 1}, "chats": {"list": [chat]}}
    path = tmp_path / "result.json"
    path.write_text(json.dumps(account if is_account else chat), encoding="utf-8")
    assert read(path) == said


@fast
@given(said=conversations())
def test_telegram_page_is_read_exactly(tmp_path: Path, said: list[MessageTuple]) -> None:
    written, last = [], ""
    for number, (name, at, text) in enumerate(said):
        sender = "" if name == last else f'<div class="from_name">\n{html.escape(name)} \n</div>'
        last = name
        body = html.escape(text).replace("\n", "<br>")
        written.append(
            f'<div class="message default clearfix" id="message{number}"><div class="body">'
            f'<div class="pull_right date details" title="{at:%d.%m.%Y %H:%M:%S} UTC+00:00">{at:%H:%M}</div>'
            f'{sender}<div class="text">\n{body}\n</div></div></div>'
        )
    page = f'<!DOCTYPE html><html><body><div class="page_body chat_page">{"".join(written)}</div></body></html>'
    path = tmp_path / "messages.html"
    path.write_text(page, encoding="utf-8")
    assert read(path) == said


@fast
@given(said=conversations().map(alternate))
def test_chatgpt_conversation_is_read_exactly(tmp_path: Path, said: list[MessageTuple]) -> None:
    nodes: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None}}
    for number, (role, at, text) in enumerate(said):
        message = {
            "id": str(number),
            "author": {"role": role},
            "create_time": at.timestamp(),
            "content": {"content_type": "text", "parts": [text]},
            "recipient": "all",
        }
        nodes[str(number)] = {"id": str(number), "message": message, "parent": str(number - 1) if number else "root"}
    conversation = {"conversation_id": "c", "title": "t", "mapping": nodes, "current_node": str(len(said) - 1)}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([conversation]), encoding="utf-8")
    assert read(path) == said


@fast
@given(said=conversations().map(alternate))
def test_claude_conversation_is_read_exactly(tmp_path: Path, said: list[MessageTuple]) -> None:
    messages = [
        {
            "uuid": str(number),
            "parent_message_uuid": str(number - 1) if number else "root",
            "sender": "assistant" if role == "assistant" else "human",
            "text": "reasoning and text",
            "content": [{"type": "thinking", "thinking": "reasoning"}, {"type": "text", "text": text}],
            "created_at": at.isoformat(),
        }
        for number, (role, at, text) in enumerate(said)
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "k", "name": "t", "chat_messages": messages}]), encoding="utf-8")
    assert read(path) == said


def pair(said: Sequence[MessageTuple]) -> list[tuple[datetime, str, str]]:
    """Return prompts with their times and answers."""
    return [(at, " ".join(text.split()), f"{text}?") for _name, at, text in said]


def expect_exchanges(exchanges: Sequence[tuple[datetime, str, str]]) -> list[MessageTuple]:
    return [said for at, asked, answer in exchanges for said in (("user", at, asked), ("assistant", at, answer))]


@fast
@given(exchanges=conversations(first=2023).map(pair))
def test_gemini_activity_is_read_exactly(tmp_path: Path, exchanges: list[tuple[datetime, str, str]]) -> None:
    records = [
        {
            "header": "Gemini Apps",
            "title": f"Prompted {asked}",
            "time": at.isoformat().replace("+00:00", "Z"),
            "products": ["Gemini Apps"],
            "safeHtmlItem": [{"html": f"<p>{html.escape(answer)}</p>"}],
        }
        for at, asked, answer in exchanges
    ]
    path = tmp_path / "MyActivity.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    assert read(path) == expect_exchanges(exchanges)


@fast
@given(exchanges=conversations(first=2023).map(pair))
def test_gemini_page_is_read_exactly(tmp_path: Path, exchanges: list[tuple[datetime, str, str]]) -> None:
    cells = [
        '<div class="outer-cell"><div class="header-cell"><p>Gemini Apps<br></p></div>'
        '<div class="content-cell mdl-typography--body-1">'
        f"Prompted&nbsp;{html.escape(asked)}<br>{at:%b} {at.day}, {at:%Y, %I:%M:%S\u202f%p} UTC<br>"
        f"<p>{html.escape(answer)}</p></div></div>"
        for at, asked, answer in reversed(exchanges)
    ]
    path = tmp_path / "MyActivity.html"
    path.write_text(f"<html><body>{''.join(cells)}</body></html>", encoding="utf-8")
    reversed_pairs = list(reversed(exchanges))
    assert read(path) == expect_exchanges(reversed_pairs)


def list_texts(value: object) -> object:
    """Convert the formats in nested dictionaries to text."""
    return {key: list_texts(inner) for key, inner in value.items()} if isinstance(value, Mapping) else str(value)


@pytest.mark.parametrize("identifier", ["uk", "nn", "en_150", "es_AR", "sr_Latn", "zh_Hant_HK"])
def test_language_is_loaded_as_babel_loads_it(identifier: str) -> None:
    locale, whole = load_locale(identifier, {}), Locale.parse(identifier)
    for name in ("months", "day_periods", "day_period_rules", "languages"):
        assert list_texts(getattr(locale, name)) == list_texts(getattr(whole, name)), name
    for name in ("date_formats", "time_formats", "datetime_formats", "datetime_skeletons"):
        assert list_texts(getattr(locale, name)) == list_texts(getattr(whole, name)), name
