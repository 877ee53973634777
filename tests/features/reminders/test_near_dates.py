"""Tests of reminders offered for remembered dates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from bot.kernel import App
from memory.clock import system_clock
from memory.mail.pruning import Pruning
from memory.store.entry import Author, Kind, NewEntry, Operation
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_reminders
from tests.support.reminding import get_memory
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Fails, Reply, Says
from tests.support.tool_use import OWNER


async def add_fact(app: App, content: str, until: str | None = None, *, trusted: bool = True, name: str = "it") -> None:
    ends = datetime.fromisoformat(until).replace(tzinfo=UTC) if until else None
    new = NewEntry(content, name=name, kind=Kind.FACT, trusted=trusted, valid_until=ends)
    await get_memory(app).entries.add(OWNER, new)


@pytest.mark.parametrize(
    ("content", "until", "asked"),
    [
        (
            "The passport is valid until March",
            "2026-03-01",
            "This ends on Sunday, 1 March 2026. Shall I remind you on Sunday, 22 February 2026, 09:00 of: The passp",
        ),
        ("The ticket ends", "2026-02-09", "This ends on Monday, 9 February 2026. Shall I remind you on Sunday, 8 Feb"),
        ("The ticket ends", "2026-04-09", None),
        ("The ticket ends", "2026-02-08", None),
        (
            "Olga's birthday is 12 February",
            None,
            "12 February 2026, 09:00, yearly on 12 February, of: Olga's birthday is 12 February? /remind_1 sets it._",
        ),
        ("День рождения Ольги 12 февраля", None, "Thursday, 12 February 2026, 09:00, yearly"),
        ("Olgas Geburtstag ist am 12. Februar", None, "Thursday, 12 February 2026, 09:00, yearly"),
        ("奥尔加的生日是2月12日", None, "Thursday, 12 February 2026, 09:00, yearly"),
        ("Our wedding anniversary: 2010-02-28", None, "Saturday, 28 February 2026, 09:00, yearly"),
        ("Olga's birthday is 12 July", None, None),
        ("Olga came on 12 February", None, None),
        ("Olga's birthday is 99.99", None, None),
    ],
)
async def test_near_date_is_offered_below_the_next_answer(
    start: OpenApp, model: ModelServer, content: str, until: str | None, asked: str | None
) -> None:
    model.otherwise = lambda _: Says("Fine.")
    async with start() as app:
        person = Person(app)
        await person.says("hello")
        await add_fact(app, content, until)
        await find_reminders(app).near.offer()
        said = await person.says("hello")
    assert said == "Fine." if asked is None else asked in said


async def test_near_date_is_offered_once_and_one_a_day(
    start: OpenApp, model: ModelServer, clock: FakeClock, telegram: BotApiServer
) -> None:
    model.otherwise = lambda _: Says("Fine.")
    async with start() as app:
        person = Person(app)
        await person.says("hello")
        await add_fact(app, "Olga's birthday is 12 February", name="olga")
        await add_fact(app, "Ivan's birthday is 14 February", name="ivan")
        await add_fact(app, "Eve's birthday is 15 February", trusted=False, name="eve")
        near = find_reminders(app).near
        assert [await near.offer() for _ in range(4)] == [1, 1, 0, 0]
        said = await person.says("hello")
        assert "Olga" in said
        assert "Ivan" in said
        assert "Eve" not in said
        assert await person.says("/cancel_2") == "Cancelled: Ivan's birthday is 14 February"
        assert (await person.says("/remind_1")).startswith("I will remind you on Thursday, 12 February 2026, 09:00")
        clock.forward(days=358)
        await Pruning(app.database, clock).prune()
        assert await near.offer() == 0


def create_judge(**texts: str | None) -> Callable[[ChatRequest], Reply]:
    """Return a judge that offers each memory with a word among `texts` with that text, or with no text if None."""

    def answer(chat: ChatRequest) -> Reply:
        claims = re.findall(r"^(\d+)\. (.*)$", str(chat.messages[0]["content"]), re.MULTILINE)
        verdicts: dict[str, dict[str, str]] = {}
        for number, claim in claims:
            word = next((word for word in texts if word in claim), None)
            text = texts[word] if word is not None else None
            verdicts[number] = {
                "verdict": "follows" if word is not None else "unclear",
                **({"text": text} if text else {}),
            }
        return Says(json.dumps(verdicts))

    return answer


async def store_as_model(
    app: App, content: str, until: str | None = None, kind: Kind = Kind.FACT, quote: str = ""
) -> None:
    """Store a memory in the words of a model, as a consolidation does."""
    ends = datetime.fromisoformat(until).replace(tzinfo=UTC) if until else None
    async with app.memory.ledger.change(OWNER, Operation.LEARN, Author.CONSOLIDATION) as change:
        await change.add(NewEntry(content, kind=kind, valid_until=ends, quote=quote or None))


async def list_offered(app: App) -> list[str]:
    """Return the texts of the reminders that are offered."""
    return [row["text"] for row in await app.database.rows("SELECT text FROM reminders ORDER BY id")]


async def test_offer_uses_the_words_of_the_judge(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("Fine.")
    model.second_look = create_judge(passport="Your passport expires on 1 March 2026: renew it.")
    async with start() as app:
        person = Person(app)
        await person.says("hello")
        await store_as_model(app, "The user's passport is valid until 2026-03-01.", "2026-03-01")
        await find_reminders(app).near.offer()
        said = await person.says("hello")
    assert "of: Your passport expires on 1 March 2026: renew it." in said
    assert "user" not in said


@pytest.mark.parametrize(
    "answer",
    [
        Says('{"1": {"verdict": "unclear", "text": "Your sick leave ends."}}'),
        Says('{"1": {"verdict": "contradicts"}}'),
        Says('{"1": {"verdict": "follows", "now": false}}'),
        Says('{"1": {"verdict": "follows"}}'),
        Says('{"1": {"verdict": "follows", "text": "The user is on sick leave until 20 February."}}'),
        Says('{"1": {"verdict": "follows", "text": "Der Nutzer ist bis 20. Februar krank."}}'),
        Says('{"1": {"verdict": "follows", "text": "Your sick leave ends on 21 February."}}'),
        Says("Sure, I would offer that."),
        Says(""),
        Fails(400, "no"),
    ],
)
async def test_offer_without_a_usable_judgement_is_not_made(start: OpenApp, model: ModelServer, answer: Reply) -> None:
    async with start() as app:
        await Person(app).says("hello")
        await store_as_model(app, "The user is on sick leave until 20 February 2026.", "2026-02-20")
        model.second_look = lambda _: answer
        assert await find_reminders(app).near.offer() == 0
        assert await list_offered(app) == []


async def test_offer_quotes_the_user_if_the_judge_gives_no_text(start: OpenApp, model: ModelServer) -> None:
    model.second_look = create_judge(passport=None)
    async with start() as app:
        await Person(app).says("hello")
        quote = "my passport runs out on 1 March"
        await store_as_model(app, "The user's passport is valid until 2026-03-01.", "2026-03-01", quote=quote)
        await find_reminders(app).near.offer()
        assert await list_offered(app) == [quote]


async def test_offer_takes_the_nearest_date_that_is_worth_one(start: OpenApp, model: ModelServer) -> None:
    model.second_look = create_judge(
        passport="Your passport expires on 1 March 2026.", birthday="Anna's birthday: 2 March."
    )
    async with start() as app:
        await Person(app).says("hello")
        await store_as_model(app, "The user is on sick leave until 20 February 2026.", "2026-02-20")
        await store_as_model(app, "The user's passport is valid until 2026-03-01.", "2026-03-01")
        await store_as_model(app, "Anna's birthday is on 2 March.", kind=Kind.DECISION)
        assert [await find_reminders(app).near.offer() for _ in range(3)] == [1, 1, 0]
        assert await list_offered(app) == ["Your passport expires on 1 March 2026.", "Anna's birthday: 2 March."]
        looks = len(model.second_looks)
        assert await find_reminders(app).near.offer() == 0
        assert len(model.second_looks) == looks  # A declined date is not checked again.


async def test_judge_of_offers_gets_the_day_and_the_language(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        person = Person(app)
        await person.says("/language de")
        await person.says("hello")
        await store_as_model(app, "Anna's birthday is on 2 March.")
        await find_reminders(app).near.offer()
    prompt = str(model.second_looks[-1].messages[0]["content"])
    assert "Today is Saturday 2026-02-07" in prompt
    assert "language with the code de" in prompt
    assert "1. Anna's birthday is on 2 March. (every year, next on Monday 2026-03-02)" in prompt


async def test_offers_run_once_a_day_also_after_a_restart(start: OpenApp, clock: FakeClock) -> None:
    from bot.features.reminders.near_date_job import DateOfferJob

    async with start() as app:
        memory = get_memory(app)
        offers = [
            DateOfferJob(find_reminders(app).near, memory.jobs, memory.notices_of.is_enabled, clock) for _ in range(2)
        ]
        assert [await offers[0].run_if_due() for _ in range(3)] == [True, False, False]
        assert not await offers[1].run_if_due()
        clock.forward(days=1)
        assert [await offers[0].run_if_due() for _ in range(2)] == [True, False]


def test_system_clock_returns_utc() -> None:
    assert system_clock().tzinfo is UTC
