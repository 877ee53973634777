"""Tests of languages: people read the language of the chat, and models read English."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

import config.texts
from bot.kernel import App
from memory.messages import Provenance
from memory.store.entry import Kind, NewEntry
from tests.conftest import OpenApp
from tests.support.consolidating import create_answer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_reminders, find_weekly_schedule, needs_feature
from tests.support.reminding import add_reminder, get_memory
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.tool_use import OWNER

GERMAN = {
    "I just read text that you didn't write (a forwarded message), so I'm asking first.": (
        "Nicht alles schriebst du selbst."
    ),
    "{why} Shall I remind you on {hour} of: {text}? /remind_{id} sets it.": "{why} Am {hour} erinnern an {text}?",
    "I don't remember anything called {name!r}: /memory shows what I remember.": "Nichts heißt {name!r}.",
    "Learned: {learned} ({back})": "Gelernt: {learned}",
    "**Reminder**: {text}": "**Erinnerung**: {text}",
    "This ends on {day}.": "Das endet am {day}.",
    "Memory tidied; {what}. Nothing was deleted (/undo takes it back).": "Aufgeräumt; {what}.",
    "merged as duplicates: {contents}": "gleich waren {contents}",
    "The model {model} sent an empty answer twice: send /retry or rephrase.": "{model} schwieg zweimal.",
}


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a German catalogue with only the tested texts."""
    lines = ['msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n']
    lines += [f'msgid "{text}"\nmsgstr "{said}"\n' for text, said in GERMAN.items()]
    (tmp_path / "de.po").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(config.texts, "LOCALES", tmp_path)
    kept = config.texts._load_catalogue  # noqa: SLF001  # The process keeps catalogues that it has read.
    kept.cache_clear()
    yield
    kept.cache_clear()


@pytest.fixture
async def person(app: App, german: None) -> Person:
    """Return a person who has chosen German."""
    await get_memory(app).preferences.change(OWNER, language="de")
    return Person(app)


@needs_feature("reminders")
async def test_tool_answers_in_english_and_its_offer_is_translated(person: Person, model: ModelServer) -> None:
    await person.says("Party on Sunday at 6 pm!", Provenance.FORWARDED)
    arguments = {"text": "party", "when": "2026-02-08T17:00"}
    model.script(Calls((("reminder_set", arguments),), cites=False), Says("Fine."))
    said = await person.says("Remind me of that an hour before")
    assert said == "Fine.\n\n_Nicht alles schriebst du selbst. Am Sonntag, 8. Februar 2026, 17:00 erinnern an party?_"
    answer = str(model.requests[-1].last)
    assert answer.startswith("not set yet: forwarded text is in view")
    assert answer.endswith(": #1, Sunday, 8 February 2026, 17:00 (UTC): party")


async def test_refusal_is_english_for_the_model_and_translated_for_people(person: Person, model: ModelServer) -> None:
    model.script(Calls((("note_write", {"name": "tea", "content": "green"}),)), Says("It is not there."))
    await person.says("Change the note on tea")
    assert ("error: I don't remember anything called 'tea': /memory shows what I remember.") in str(
        model.requests[-1].last
    )
    assert await person.says("/memory tea") == "Nichts heißt 'tea'."


async def test_failure_is_translated_in_the_chat_and_english_in_logs(person: Person, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("")
    with capture_logs() as logged:
        assert await person.says("Hello") == f"{person.app.models.usual.name} schwieg zweimal."
    (finished,) = (one for one in logged if one["event"] == "turn_finished")
    assert str(finished["failure"]).endswith(" sent an empty answer twice: send /retry or rephrase.")


async def test_background_learning_is_announced_in_the_chats_language(person: Person, model: ModelServer) -> None:
    model.consolidation = lambda _: Says("garbage")
    await person.says("I live in Kyiv.")
    await person.says("/new")
    lives = ("home city", "The user lives in Kyiv.")
    model.consolidation = lambda _: Says(create_answer("They spoke of Kyiv.", None, lives))
    await person.app.jobs.consolidation.run_pending()
    assert "_Gelernt: The user lives in Kyiv_" in await person.says("And now?")


@needs_feature("reminders")
async def test_reminder_and_offer_are_in_the_chats_language(app: App, person: Person, clock: FakeClock) -> None:
    await person.says("hello")
    ends = datetime(2026, 3, 1, tzinfo=UTC)
    passport = NewEntry("The passport ends", name="passport", kind=Kind.FACT, valid_until=ends)
    await get_memory(app).entries.add(OWNER, passport)
    await find_reminders(app).near.offer()
    assert "_Das endet am Sonntag, 1. März 2026. Am Sonntag, 22. Februar 2026, 09:00" in await person.says("And?")
    await add_reminder(app, "tea", "2026-02-07T13:00", session=OWNER)
    clock.forward(hours=1)
    ((_due, told),) = await find_reminders(app).delivery.list_due(OWNER)
    assert told.startswith("**Erinnerung**: tea\n\nSamstag, 7. Februar 2026, 13:00")


@needs_feature("tidying")
async def test_weekly_tidying_is_announced_in_each_chats_language(
    start: OpenApp, german: None, clock: FakeClock
) -> None:
    async with start() as app:
        memory = get_memory(app)
        await memory.preferences.change(OWNER, language="de")
        for owner in (OWNER, "console:other"):
            for name in ("tea", "green tea"):
                await memory.entries.add(owner, NewEntry("I like green tea", name=name, kind=Kind.FACT))
        await find_weekly_schedule(app).run_if_due()
        clock.forward(days=7)
        assert await find_weekly_schedule(app).run_if_due()
        told = [(await memory.notices.list_waiting(owner))[0].line.text for owner in (OWNER, "console:other")]
    assert told == [
        'Aufgeräumt; gleich waren "I like green tea".',
        'Memory tidied; merged as duplicates: "I like green tea". Nothing was deleted (/undo takes it back).',
    ]
