"""Tests of reminders without tools: a plain request is offered with day and hour."""

from __future__ import annotations

import functools
import json

import pytest

from bot.kernel import App
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Reply, Says

# The test clock starts on Saturday, 7 February 2026, 12:15 UTC.


@pytest.fixture
def plain(start: OpenApp) -> OpenApp:
    """Start an App with a model without tools."""
    return functools.partial(start, llm_model="qwen2.5-coder-1.5b", timezone="UTC")


async def read_reminders(app: App) -> list[tuple[str, str, str]]:
    """Return state, text and time of all reminders."""
    rows = await app.database.rows("SELECT state, text, next_at FROM reminders ORDER BY id")
    return [(row["state"], row["text"], row["next_at"]) for row in rows]


def read(**fields: object) -> Says:
    return Says(json.dumps(fields))


@pytest.mark.parametrize(
    ("message", "wish", "moment"),
    [
        ("Remind me tomorrow at 9 to call Ann", {"day": "2026-02-08", "hour": "09:00"}, "2026-02-08T09:00"),
        ("Kannst du mich in 20 Minuten an Ann erinnern?", {"in_minutes": 20}, "2026-02-07T12:35"),
        ("Recuérdame el 5 de enero llamar a Ana", {"day": "2026-01-05", "hour": None}, "2027-01-05T09:00"),
        ("Напомни в 9 позвонить Ане", {"day": None, "hour": "09:00"}, "2026-02-08T09:00"),
        ("18点提醒我给安娜打电话", {"day": "2026-02-07", "hour": "18:00"}, "2026-02-07T18:00"),
    ],
)
async def test_plain_reminder_is_offered_and_set_by_one_tap(
    plain: OpenApp, model: ModelServer, message: str, wish: dict[str, object], moment: str
) -> None:
    async with plain() as app:
        person = Person(app)
        model.script(read(what="call Ann", repeat="once", **wish))
        answer = await person.says(message)
        assert "call Ann" in answer
        assert "/remind_1" in answer
        assert await read_reminders(app) == [("offered", "call Ann", f"{moment}:00.000Z")]
        await person.says("/remind_1")
        assert await read_reminders(app) == [("waiting", "call Ann", f"{moment}:00.000Z")]


UNREADABLE = "I couldn't read the model's answer about the reminder, so no reminder is set"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Says("Sure, I will!"), UNREADABLE),
        (Says("[]"), UNREADABLE),
        (read(what="call Ann", day="soon"), UNREADABLE),
        (read(what="call Ann"), "I couldn't tell when to remind you"),
    ],
)
async def test_unclear_request_is_asked_about_without_a_promise(
    plain: OpenApp, model: ModelServer, reply: Says, said: str
) -> None:
    async with plain() as app:
        model.script(reply, reply, reply)
        answer = await Person(app).says("Remind me to call Ann")
        assert answer.startswith(said)
        assert await read_reminders(app) == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [(400, "rejected the request"), (500, "returned error 500"), (503, "was not ready within 1")],
)
async def test_reminder_without_an_answering_model_says_why(
    plain: OpenApp, model: ModelServer, monkeypatch: pytest.MonkeyPatch, status: int, reason: str
) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    model.otherwise = lambda _: Fails(status, retry_after=0)
    async with plain(llm_timeout=1) as app:
        answer = await Person(app).says("Remind me tomorrow at 9 to call Ann")
        assert reason in answer
        assert await read_reminders(app) == []


async def test_question_with_similar_words_is_answered(plain: OpenApp, model: ModelServer) -> None:
    async with plain() as app:
        model.script(read(what=None), Says("Pixel."))
        assert await Person(app).says("Remind me what my cat is called") == "Pixel."


ANN = {"text": "call Ann", "when": "2026-02-08T09:00"}
PROMISE = "Sure, I'll remind you!"


async def test_model_with_tools_sets_the_reminder_itself(start: OpenApp, model: ModelServer) -> None:
    model.script(Calls((("reminder_set", ANN),)), Says("Done."))
    async with start() as app:
        assert (await Person(app).says("Remind me tomorrow at 9 to call Ann")).startswith("Done.")
    assert len(model.requests) == 2


async def test_promise_is_kept_with_the_tool_required(start: OpenApp, model: ModelServer) -> None:
    reading = read(what="call Ann", day="2026-02-08", hour="09:00")
    model.script(Says(PROMISE), reading, Calls((("reminder_set", ANN),)), Says("It is set."))
    async with start(timezone="UTC") as app:
        person = Person(app)
        answer = await person.says("Remind me tomorrow at 9 to call Ann")
        assert "It is set." in answer
        assert "call Ann" in answer
        assert "call Ann" in await person.says("/reminders")
    assert model.requests[2].body["tool_choice"] == {"type": "function", "function": {"name": "reminder_set"}}


@pytest.mark.parametrize(
    "again", [Says(PROMISE), Calls((("reminder_set", {"text": "call Ann", "when": "2020-01-01T09:00"}),)), Fails(400)]
)
async def test_broken_promise_becomes_an_offer(start: OpenApp, model: ModelServer, again: Reply) -> None:
    reading = read(what="call Ann", day="2026-02-08", hour="09:00")
    model.script(Says(PROMISE), reading, *[again] * 6)
    async with start(timezone="UTC") as app:
        answer = await Person(app).says("Remind me tomorrow at 9 to call Ann")
        assert PROMISE not in answer
        assert "Shall I remind you" in answer
        assert [text for _, text, _ in await read_reminders(app)] == ["call Ann"]


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (read(what="call Ann"), "No reminder is set yet"),
        (Says("no JSON"), UNREADABLE),
        (Fails(400), "The model didn't say when to remind you, so no reminder is set"),
    ],
)
async def test_unclear_promise_says_that_nothing_is_set(
    start: OpenApp, model: ModelServer, reading: Reply, said: str
) -> None:
    model.script(Says(PROMISE), reading, reading, reading, reading)
    async with start() as app:
        person = Person(app)
        assert said in await person.says("Remind me to call Ann")
        assert "You have no reminders" in await person.says("/reminders")


async def test_question_with_the_same_words_sets_nothing(start: OpenApp, model: ModelServer) -> None:
    model.script(Says("Pixel."), read(what=None))
    async with start() as app:
        assert await Person(app).says("Remind me what my cat is called") == "Pixel."


async def test_server_that_refuses_tools_makes_no_promise(start: OpenApp, model: ModelServer) -> None:
    """The server refuses tools from the first message on."""
    refusal = Fails(400, "tools are not supported")
    async with start(timezone="UTC") as app:
        person = Person(app)
        model.script(refusal, Says("I'll remind you!"), read(what="call Ann", day="2026-02-08", hour="09:00"))
        assert "Shall I remind you" in await person.says("Remind me tomorrow at 9 to call Ann")
        model.script(read(what="call Bob", day="2026-02-09", hour="09:00"))
        assert "Shall I remind you" in await person.says("Remind me on Monday at 9 to call Bob")
        assert [text for _, text, _ in await read_reminders(app)] == ["call Ann", "call Bob"]
        assert "can't use tools here" in await person.says("How are you?")
        assert await person.says("How are you?") == "You said: How are you?"
