"""Tests of a first day: nothing false is noted, plain facts are learned, and corrections replace."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import chain

import pytest

from bot.features.capture.review import MessageCaptures
from bot.features.capture.statements import propose_statements
from bot.kernel import App
from memory.store.entry import Author, Kind, NewEntry
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_capture, wait_for_captures
from tests.support.first_day import FACTS, REQUESTS
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Fails, Reply, Says
from tests.support.talk import Store

ALL_FACTS = frozenset(chain.from_iterable(FACTS.values()))


def read_claims(chat: ChatRequest) -> list[str]:
    """Return the claims that a judge is asked about."""
    prompt = str(chat.messages[0]["content"])
    return re.findall(r"^\d+\. (.*)$", prompt.rpartition("## Claims")[2], re.MULTILINE)


def read_known_memories(chat: ChatRequest) -> list[str]:
    """Return the known memories that a judge sees."""
    return re.findall(r"^K\d+\. (.*?)(?: \[.*\])?$", str(chat.messages[0]["content"]), re.MULTILINE)


def judge_sensibly(chat: ChatRequest) -> Reply:
    """Confirm only claims that are plain facts from the user."""
    return Says(
        json.dumps(
            {
                str(at): {"verdict": "follows" if claim.rstrip(".") in ALL_FACTS else "unclear"}
                for at, claim in enumerate(read_claims(chat), 1)
            }
        )
    )


def create_judge(replaces: str, text: str | None = None) -> Callable[[ChatRequest], Reply]:
    """Return a judge that confirms every claim, in the words of `text`, and says which memories it replaces."""

    def answer(chat: ChatRequest) -> Reply:
        numbers = [f"K{at}" for at, known in enumerate(read_known_memories(chat), 1) if re.search(replaces, known)]
        fields: dict[str, object] = {"verdict": "follows", "replaces": numbers}
        fields |= {"text": text} if text is not None else {}
        return Says(json.dumps({str(at): fields for at in range(1, len(read_claims(chat)) + 1)}))

    return answer


async def read_current(app: App) -> list[str]:
    """Return the contents of the memories that hold."""
    rows = await app.database.rows(
        "SELECT content FROM entries WHERE superseded_by IS NULL AND deleted_at IS NULL AND unconfirmed IS NULL"
        " AND kind <> 'archive' ORDER BY id"
    )
    return [row["content"] for row in rows]


async def learn(app: App, content: str, name: str) -> None:
    """Store what a consolidation has learned earlier."""
    new = NewEntry(content, name=name, kind=Kind.FACT, subject=name, author=Author.CONSOLIDATION)
    await Store.create(app.database, FakeClock()).entries.add("console:local", new)


JUDGES: Mapping[str, Callable[[ChatRequest], Reply]] = {
    "sensible": judge_sensibly,
    "out of reach": lambda _: Fails(500),
    "nonsense": lambda _: Says("As you wish! {1: yes, [2]"),
    "confirms nothing": lambda _: Says("{}"),
}


NO_JUDGES = tuple(name for name in JUDGES if name != "sensible")
"""The judges that never give a verdict. Each is asked about a third of the texts."""


def choose(judge: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts for a judge: all for the sensible one, a third for each of the others."""
    return texts if judge not in NO_JUDGES else texts[NO_JUDGES.index(judge) :: len(NO_JUDGES)]


@pytest.mark.slow
@pytest.mark.parametrize("language", REQUESTS)
@pytest.mark.parametrize("judge", JUDGES)
async def test_everyday_requests_leave_no_memory(
    app: App, person: Person, model: ModelServer, language: str, judge: str
) -> None:
    model.second_look = JUDGES[judge]
    for request in choose(judge, REQUESTS[language]):
        assert "Noted" not in await person.says(request)
    assert (await read_current(app), await person.is_told()) == ([], "")


@pytest.mark.slow
@pytest.mark.parametrize("judge", NO_JUDGES)
async def test_facts_without_a_judgement_are_not_live(app: App, person: Person, model: ModelServer, judge: str) -> None:
    model.second_look = JUDGES[judge]
    for fact in choose(judge, tuple(chain.from_iterable(FACTS.values()))):
        assert "Noted" not in await person.says(fact)
    assert (await read_current(app), await person.is_told()) == ([], "")


async def test_plain_facts_of_a_first_day_are_learned(app: App, person: Person, model: ModelServer) -> None:
    model.second_look = judge_sensibly
    for fact in chain.from_iterable(FACTS.values()):
        await person.says(fact)
    learned = {content.rstrip(".") for content in await read_current(app)}
    assert len(ALL_FACTS) == 40
    assert len(ALL_FACTS - learned) <= 1
    assert len(model.second_looks) <= 40


CORRECTIONS = [
    ("My exam is on 12 March", "no wait, 15 March", "12 March", "My exam is on 15 March"),
    ("I'm a nurse", "I'm not a nurse anymore, I'm a teacher now", "I'm a nurse", "I'm a teacher"),
    ("My sister is called Anna", "no, she is called Hanna", "Anna", "My sister is called Hanna"),
    ("Meine Prüfung ist am 12. März", "nein, am 15. März", "12. März", "Meine Prüfung ist am 15. März"),
    ("Ich bin Krankenschwester", "Ich bin keine Krankenschwester mehr, ich bin jetzt Lehrerin", "bin Krank", None),
    ("Meine Schwester heißt Anna", "Nein, sie heißt Hanna", "Anna", "Meine Schwester heißt Hanna"),
    ("Мій іспит 12 березня", "ні, 15 березня", "12 березня", "Мій іспит 15 березня"),
    ("Я медсестра", "Я більше не медсестра, тепер я вчителька", "Я медсестра", "Я вчителька"),
    ("Мою сестру звати Анна", "Ні, її звати Ганна", "Анна", "Мою сестру звати Ганна"),
]


@pytest.mark.parametrize(("fact", "correction", "former", "text"), CORRECTIONS)
async def test_correction_supersedes_what_the_judge_names(
    app: App, person: Person, model: ModelServer, fact: str, correction: str, former: str, text: str | None
) -> None:
    model.second_look = create_judge("nothing")
    await person.says(fact)
    model.second_look = create_judge(former, text)
    await person.says(correction)
    assert await read_current(app) == [text or correction]
    row = await app.database.row("SELECT superseded_by FROM entries ORDER BY id LIMIT 1")
    assert row is not None
    assert row["superseded_by"] is not None
    while await read_current(app) != [fact]:
        assert await person.says("/undo") != "There is nothing to undo."


@pytest.mark.parametrize(("fact", "correction", "former", "text"), CORRECTIONS)
async def test_corrected_fact_leaves_the_prompt_although_the_judge_fails(
    app: App, person: Person, model: ModelServer, fact: str, correction: str, former: str, text: str | None
) -> None:
    await person.says(f"/remember {fact}")
    await person.says(f"What do you know? {fact}?")
    model.second_look = lambda _: Fails(500)
    told = await person.says(correction)
    assert "(was: " in told
    assert fact not in await read_current(app)
    await person.says("/new")
    await person.says("Tell me about boats")
    lines = [line for line in model.requests[-1].system().splitlines() if fact in line]
    assert all("Assistant: " in line for line in lines)  # Only the log contains it.


async def test_fact_in_another_language_is_replaced(app: App, person: Person, model: ModelServer) -> None:
    await learn(app, "The user works as a nurse.", "job")
    model.second_look = create_judge("nurse", "Ich bin Lehrerin")
    await person.says("Ich bin keine Krankenschwester mehr, ich bin jetzt Lehrerin")
    assert await read_current(app) == ["Ich bin Lehrerin"]


async def test_turn_does_not_wait_for_the_judge(app: App, person: Person, model: ModelServer) -> None:
    await person.says("/remember I live in Kyiv")
    held = Says("{}")
    asked: list[ChatRequest] = []

    def late(chat: ChatRequest) -> Reply:
        asked.append(chat)
        assert len(model.requests) == 1  # The turn has been answered.
        return held

    model.second_look = late
    assert "was: I live in Kyiv" in await person.says("I moved from Kyiv to Lviv")
    assert len(asked) == 1


async def test_message_costs_one_judgement_and_a_plain_one_none(app: App, person: Person, model: ModelServer) -> None:
    await person.says("I live in Leeds. My sister is called Anna. I'm allergic to nuts. Never use emojis")
    assert len(model.second_looks) == 1
    await person.says("What is the capital of France?")
    await person.says("Remind me tomorrow at 8 to call the dentist")
    assert len(model.second_looks) == 1


async def test_judge_prompt_contains_message_context_day_and_known_facts(
    app: App, person: Person, model: ModelServer
) -> None:
    await person.says("/remember My sister lives in Leeds")
    await person.says("My sister Anna is coming to visit")
    await person.says("She is a pilot and lives in York")
    prompt = str(model.second_looks[-1].messages[0]["content"])
    for part in (
        "[Saturday 2026-02-07]",
        "user: My sister Anna is coming to visit",
        "user: She is a pilot and lives in York",
        ". My sister lives in Leeds [since 2026-02-07",
        "1. She is a pilot and lives in York",
        "translate, summarise",
        "in something imagined",
        "a reminder, a list, a recipe",
        "a mood or a state of today",
        "a joke",
        "YYYY-MM-DD",
        "user's newest message, [3]",
    ):
        assert part in " ".join(prompt.replace("\n[", "\n [").split()) or part in prompt, part


async def test_pronoun_and_relative_day_are_resolved_or_left(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Hello! My sister is coming")
    model.second_look = create_judge("nothing", "My sister is called Hanna")
    await person.says("She is called Hanna")
    assert (await read_current(app))[-1] == "My sister is called Hanna"
    model.second_look = create_judge("nothing", "I fly to Rome on 2026-02-12")
    await person.says("I fly to Rome next Thursday")
    assert (await read_current(app))[-1] == "I fly to Rome on 2026-02-12"
    before = await read_current(app)
    model.second_look = create_judge("nothing")
    for said in ("She is a pilot", "I fly to Oslo next Thursday"):
        await person.says(said)
    assert await read_current(app) == before


async def test_wording_unlike_the_users_is_rejected(app: App, person: Person, model: ModelServer) -> None:
    model.second_look = create_judge("nothing", "I live in London and own a golden yacht with three sails")
    await person.says("I live in Leeds")
    assert await read_current(app) == []


async def test_judgement_after_new_is_left_to_the_consolidation(app: App, person: Person, model: ModelServer) -> None:
    await person.sends("I live in Leeds")
    await app.runner.wait_until_idle("console:local")
    await person.sends("/new")
    await app.runner.wait_until_idle("console:local")
    await wait_for_captures(app)
    assert len(await read_current(app)) <= 1


@pytest.mark.slow
async def test_model_that_cannot_judge_confirms_nothing(
    app: App, person: Person, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never() -> bool:
        return False

    monkeypatch.setattr(find_capture(app).review.look, "is_reliable", never)
    for request in [*chain.from_iterable(REQUESTS.values())][::3]:
        await person.says(request)
    assert await read_current(app) == []
    await person.says("I live in Leeds")
    assert await read_current(app) == ["I live in Leeds"]
    assert model.second_looks == []


def read_rules(chat: ChatRequest) -> list[str]:
    """Return the rules in a request."""
    lines = str(chat.messages[0]["content"]).partition("# Rules\n")[2].splitlines()
    return [line.partition("] ")[2] for line in lines if line.startswith("- [")]


async def test_new_rule_ends_the_one_that_the_judge_names(app: App, person: Person, model: ModelServer) -> None:
    await person.says("From now on, at most three sentences")
    await person.says("Never use emojis")
    model.second_look = create_judge("three sentences")
    await person.says("Always answer in more detail")
    prompt = str(model.second_looks[-1].messages[0]["content"])
    assert "From now on, at most three sentences [since 2026-02-07]" in prompt
    await person.says("Tell me about boats")
    assert sorted(read_rules(model.requests[-1])) == ["Always answer in more detail", "Never use emojis"]
    assert "[preference, 2026-02-07] Never use emojis" in str(model.requests[-1].messages[0]["content"])


@pytest.mark.parametrize("judge", ["out of reach", "confirms nothing"])
async def test_rule_that_differs_in_a_value_replaces_without_a_judge(
    app: App, person: Person, model: ModelServer, judge: str
) -> None:
    model.second_look = JUDGES[judge]
    await person.says("Always answer in German")
    await person.says("Always answer in English")
    await person.says("Tell me about boats")
    assert read_rules(model.requests[-1]) == ["Always answer in English"]


@pytest.mark.parametrize(
    ("rule", "end"),
    [
        ("Never use emojis", "use emojis again"),
        ("Never use emojis.", "You can use emojis again, please"),
        ("Nie Emojis benutzen", "Benutze wieder Emojis"),
        ("Ніколи не використовуй емодзі", "Знову використовуй емодзі"),
    ],
)
@pytest.mark.parametrize("judge", ["replaces", "out of reach"])
async def test_prohibition_ends_by_its_opposite(
    app: App, person: Person, model: ModelServer, rule: str, end: str, judge: str
) -> None:
    await person.says(rule)
    model.second_look = create_judge("moji|модзі") if judge == "replaces" else JUDGES[judge]
    assert "(was: " in await person.says(end)
    await person.says("Tell me about boats")
    assert rule.rstrip(".") not in [item.rstrip(".") for item in read_rules(model.requests[-1])]


async def test_undo_button_of_a_correction_restores_the_former_fact(
    app: App, person: Person, model: ModelServer
) -> None:
    await learn(app, "I live in Kyiv", "home")
    model.second_look = lambda _: Fails(500)
    await person.says("I moved from Kyiv to Lviv")
    assert await read_current(app) == ["I live in Lviv"]
    entry = await app.database.value("SELECT max(id) FROM entries")
    change = await app.database.value("SELECT max(batch) FROM changes")
    await person.says(f"/undo_{change}_{entry}")
    assert await read_current(app) == ["I live in Kyiv"]


async def test_forgotten_words_are_not_captured_by_a_late_judgement(
    app: App, person: Person, model: ModelServer
) -> None:
    await person.says("I live in Leeds")
    await person.says("Nice weather")
    heard = MessageCaptures("console:local", "I live in Leeds", candidates=tuple(propose_statements("I live in Leeds")))
    turn = await app.database.value("SELECT min(turn_id) FROM messages")
    await person.says("/undo")
    assert await find_capture(app).review.judge(heard, turn) == []
    assert await read_current(app) == []
    assert "Leeds" not in str(model.second_looks[-1].messages[0]["content"]).partition("## Claims")[0]
