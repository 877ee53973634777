"""What is learned with evidence, from the conversation to the prompt: confirmed, doubted, ended, forgotten."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from memory.log.sessions import Address
from memory.messages import Completion, Message, Provenance, Role
from tests.support.consolidating import Bench
from tests.support.servers.model import Says
from tests.support.talk import NOON, assistant, user

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memory.store.database import Database
    from memory.store.entry import Entry
    from tests.support.fakes import FakeClock, Person
    from tests.support.servers.model import ModelServer

OWNER = "telegram:12345"


def answer(*facts: dict[str, object], forget: list[dict[str, object]] | None = None, **fields: object) -> str:
    return json.dumps(
        {"history_entry": "They talked.", "memory_update": None, "facts": facts, "forget": forget or []} | fields
    )


def fact(subject: str, text: str, quote: str, message: int = 1, **more: object) -> dict[str, object]:
    return {"subject": subject, "fact": text, "kind": "fact", "message": message, "quote": quote} | more


class Model:
    """A PromptFn that gives one answer after the other."""

    def __init__(self) -> None:
        self.answers: list[str | Completion] = []
        self.asked: list[str] = []

    async def __call__(self, prompt: str, seconds: float) -> Completion:
        self.asked.append(prompt)
        given = self.answers.pop(0) if self.answers else answer()
        return given if isinstance(given, Completion) else Completion(given)


@pytest.fixture
def prompt() -> Model:
    return Model()


@pytest.fixture
def make(database: Database, clock: FakeClock, tmp_path: Path, prompt: Model) -> Callable[..., Bench]:
    return lambda **options: Bench.over(database, clock, tmp_path / "memory", prompt, **options)


@pytest.fixture
def bench(make: Callable[..., Bench]) -> Bench:
    return make()


async def ended(bench: Bench, *said: str) -> str:
    """A conversation with an answer to each message, ended; what is told of it."""
    session = await bench.store.session()
    for text in said:
        await bench.store.exchange(session, text, "I see.")
    done = await bench.end_conversation(session)
    return "\n".join(line.text for line in done.told) if done is not None else ""


async def known(bench: Bench) -> dict[str, str]:
    return {subject: entry.content for subject, entry in await bench.facts.current(OWNER, 100)}


async def unsure(bench: Bench) -> list[Entry]:
    return await bench.store.entries.unconfirmed(OWNER)


# the conversation with the bot


async def test_what_is_cited_is_learned_and_shown_with_its_words(person: Person, model: ModelServer) -> None:
    await person.says("my rent is 950 now, ugh")
    model.consolidation = lambda _: Says(answer(fact("rent", "The user's rent is 950.", "my rent is 950 now")))
    assert "Learned: The user's rent is 950. (/undo takes it back)" in await person.says("/new")
    assert "[1] user: my rent is 950 now, ugh" in model.consolidations[-1].prompt
    assert 'Said: "my rent is 950 now"' in await person.says("/memory rent")
    await person.says("Hello again, what about my rent?")
    assert "rent is 950" in model.requests[-1].prompt
    await person.says("/undo")
    await person.says("And now, what about my rent?")
    assert "The user's rent is 950." not in model.requests[-1].prompt.replace("my rent is 950 now", "")


async def test_what_is_doubted_stays_out_until_it_is_confirmed_with_one_tap(person: Person, model: ModelServer) -> None:
    await person.says("my sister is allergic to nuts")
    model.consolidation = lambda _: Says(
        answer(fact("allergy", "The user is allergic to nuts.", "my sister is allergic to nuts"))
    )
    told = await person.says("/new")
    assert "Not sure: The user is allergic to nuts. - /memory unsure" in told
    assert "Learned" not in told
    await person.says("May I eat nuts, with my allergy?")
    assert "The user is allergic to nuts." not in model.requests[-1].prompt
    assert "unconfirmed" in await person.says("/recall allergic nuts")
    listed = await person.says("/memory unsure")
    assert "it may be about somebody else" in listed
    tap = next(word for word in listed.split() if word.startswith("/confirm_"))
    assert "Confirmed: The user is allergic to nuts." in await person.says(tap)
    await person.says("May I eat nuts now, with my allergy?")
    assert "The user is allergic to nuts." in model.requests[-1].prompt
    await person.says("/undo")
    assert "allergic" in await person.says("/memory unsure")


async def test_what_is_doubted_is_dropped_with_one_tap(person: Person, model: ModelServer) -> None:
    await person.says("my brother plays the cello")
    model.consolidation = lambda _: Says(
        answer(fact("music", "The user plays the cello.", "my brother plays the cello"))
    )
    await person.says("/new")
    listed = await person.says("/memory unsure")
    assert "Forgotten" in await person.says(next(word for word in listed.split() if word.startswith("/forget_")))
    assert "nothing that I am not sure of" in await person.says("/memory unsure")


# states


async def test_what_is_doubted_takes_nothing_s_place(bench: Bench, prompt: Model) -> None:
    prompt.answers = [
        answer(fact("home city", "The user lives in Kyiv.", "I live in Kyiv")),
        answer(fact("home city", "The user lives in Lviv.", "my brother lives in Lviv")),
    ]
    await ended(bench, "I live in Kyiv")
    await ended(bench, "my brother lives in Lviv")
    assert await known(bench) == {"home city": "The user lives in Kyiv."}
    (doubted,) = await unsure(bench)
    confirmed = await bench.store.entries.confirm(OWNER, doubted.name)
    assert confirmed.unconfirmed is None
    assert await known(bench) == {"home city": "The user lives in Lviv."}
    await bench.undo.undo(OWNER)
    assert await known(bench) == {"home city": "The user lives in Kyiv."}
    assert [entry.id for entry in await unsure(bench)] == [doubted.id]


async def test_a_secret_and_a_forwarded_text_are_refused(bench: Bench, prompt: Model) -> None:
    session = await bench.store.session()
    await bench.store.turn(
        session, Message(Role.USER, "I have a boat", NOON, provenance=Provenance.FORWARDED), assistant("A boat, then.")
    )
    await bench.store.exchange(session, "the password is hunter2secret!", "I see.")
    prompt.answers = [
        answer(
            fact("boat", "The user has a boat.", "I have a boat"),
            fact("password", "The password is hunter2secret!", "the password is hunter2secret!", 3),
        )
    ]
    await bench.end_conversation(session)
    assert await known(bench) == {}
    assert await unsure(bench) == []


async def test_what_has_ended_is_history_and_what_ends_later_holds_until_then(
    bench: Bench, prompt: Model, clock: FakeClock
) -> None:
    prompt.answers = [
        answer(
            fact(
                "old job", "The user worked at a bank until 2020.", "i worked at a bank until 2020", until="2020-12-31"
            ),
            fact(
                "visit", "The user's cousin stays until 2026-02-10.", "my cousin stays till tuesday", until="2026-02-10"
            ),
        )
    ]
    await ended(bench, "i worked at a bank until 2020. my cousin stays till tuesday")
    assert await known(bench) == {"visit": "The user's cousin stays until 2026-02-10."}
    assert (await bench.store.entries.get(OWNER, "old job")).valid_until is not None
    clock.forward(days=10)
    assert await known(bench) == {}


async def test_two_people_of_a_group_have_their_own_facts(bench: Bench, prompt: Model) -> None:
    session = await bench.store.sessions.get_or_create(Address("telegram", "12345"))
    await bench.store.turn(
        session, Message(Role.USER, "I live in Kyiv", NOON, "Ann", Provenance.TYPED), assistant("Nice.")
    )
    await bench.store.turn(
        session, Message(Role.USER, "I live in Oslo", NOON, "Bob", Provenance.TYPED), assistant("Nice.")
    )
    prompt.answers = [
        answer(
            fact("home city", "Ann lives in Kyiv.", "I live in Kyiv", 1, person="Ann"),
            fact("home city", "Bob lives in Oslo.", "I live in Oslo", 3, person="Bob"),
        )
    ]
    await bench.end_conversation(session)
    assert sorted((await known(bench)).values()) == ["Ann lives in Kyiv.", "Bob lives in Oslo."]
    assert '"person"' in prompt.asked[0]


async def test_two_people_of_a_group_have_their_own_facts_also_where_the_model_does_not_say_whose(
    make: Callable[..., Bench], prompt: Model
) -> None:
    bench = make(cited=False)
    session = await bench.store.sessions.get_or_create(Address("telegram", "12345"))
    for name, city in (("Ann", "Kyiv"), ("Bob", "Oslo")):
        said = Message(Role.USER, f"I live in {city}", NOON, name, Provenance.TYPED)
        await bench.store.turn(session, said, assistant("Nice."))
    listed = [{"subject": "home city", "fact": f"The user lives in {city}."} for city in ("Kyiv", "Oslo")]
    prompt.answers = [json.dumps({"history_entry": "They talked.", "memory_update": None, "facts": listed})]
    await bench.end_conversation(session)
    assert await known(bench) == {
        "ann: home city": "Ann: The user lives in Kyiv.",
        "bob: home city": "Bob: The user lives in Oslo.",
    }
    assert "- Ann: I live in Kyiv" in prompt.asked[0]


# forgetting


async def test_what_the_user_sold_or_wants_forgotten_goes_with_its_line_and_comes_back_with_one_undo(
    bench: Bench, prompt: Model
) -> None:
    prompt.answers = [
        answer(fact("car", "The user drives a Volvo.", "I drive a Volvo")),
        answer(forget=[{"subject": "car", "message": 1, "quote": "sold the volvo"}]),
    ]
    await ended(bench, "I drive a Volvo")
    assert "Volvo" in bench.memory_path(OWNER).read_text()
    assert "Forgotten: The user drives a Volvo." in await ended(bench, "sold the volvo yesterday")
    assert await known(bench) == {}
    assert "Volvo" not in bench.memory_path(OWNER).read_text()
    await bench.undo.undo(OWNER)
    assert await known(bench) == {"car": "The user drives a Volvo."}
    assert "Volvo" in bench.memory_path(OWNER).read_text()


async def test_a_line_of_memory_md_is_forgotten_by_its_words(bench: Bench, prompt: Model) -> None:
    bench.write_memory(OWNER, "- Ann is a friend.\n- Max is the ex.\n")
    prompt.answers = [answer(forget=[{"line": "- Max is the ex.", "message": 1, "quote": "please forget my ex"}])]
    await ended(bench, "please forget my ex")
    assert bench.memory_path(OWNER).read_text() == "- Ann is a friend.\n"


async def test_nothing_is_forgotten_that_nobody_asked_to_forget(bench: Bench, prompt: Model) -> None:
    prompt.answers = [
        answer(fact("car", "The user drives a Volvo.", "I drive a Volvo")),
        answer(forget=[{"subject": "car", "message": 1, "quote": "forget my car"}]),
    ]
    await ended(bench, "I drive a Volvo")
    await ended(bench, "what a nice day it was in town")
    assert await known(bench) == {"car": "The user drives a Volvo."}


# the second look


@pytest.mark.parametrize(
    ("text", "quote", "verdicts"),
    [
        ("The user is a fan of pizza.", "pizza is not my thing", '{"1": "follows", "2": "contradicts"}'),
        ("The user is a vegetarian.", "no steak for me", '{"1": "unclear", "2": "unclear"}'),
    ],
)
async def test_a_second_look_takes_the_confirmation_from_what_its_words_do_not_say(
    make: Callable[..., Bench], prompt: Model, text: str, quote: str, verdicts: str
) -> None:
    bench = make(second_look=True)
    prompt.answers = [
        answer(fact("town", "The user lives in Kyiv.", "I live in Kyiv"), fact("food", text, quote)),
        verdicts,
    ]
    await ended(bench, f"I live in Kyiv, {quote}")
    assert await known(bench) == {"town": "The user lives in Kyiv."}
    assert [entry.content for entry in await unsure(bench)] == [text]
    assert len(prompt.asked) == 2
    assert "I live in Kyiv" in prompt.asked[1]


async def test_a_second_look_affirms_other_words_and_no_other_number(make: Callable[..., Bench], prompt: Model) -> None:
    bench = make(second_look=True)
    prompt.answers = [
        answer(
            fact(
                "illness", "The user lives with an inflammatory bowel disease.", "crohns since forever, lives with me"
            ),
            fact("rent", "The user's rent is 950.", "my rent is 900"),
        ),
        '{"1": "follows", "2": "follows"}',
    ]
    await ended(bench, "crohns since forever, lives with me. my rent is 900")
    assert list(await known(bench)) == ["illness"]
    assert [entry.unconfirmed for entry in await unsure(bench)] == ["you did not say that number"]


async def test_without_a_verdict_the_checks_of_the_code_stand(make: Callable[..., Bench], prompt: Model) -> None:
    bench = make(second_look=True)
    prompt.answers = [answer(fact("town", "The user lives in Kyiv.", "I live in Kyiv")), "I can't say."]
    await ended(bench, "I live in Kyiv")
    assert await known(bench) == {"town": "The user lives in Kyiv."}


# nothing unseen is marked done


CODE_WORD = re.compile(r"^\[(?P<number>\d+)\] user: my code word is (?P<word>\w+)", re.MULTILINE)


class Reader(Model):
    """Makes a fact of each code word that it is shown."""

    async def __call__(self, prompt: str, seconds: float) -> Completion:
        self.asked.append(prompt)
        facts = [
            fact(
                f"word {at['word']}",
                f"The user's code word is {at['word']}.",
                f"code word is {at['word']}",
                int(at["number"]),
            )
            for at in CODE_WORD.finditer(prompt)
        ]
        return Completion(answer(*facts))


async def test_a_long_conversation_is_read_to_its_last_word(
    database: Database, clock: FakeClock, tmp_path: Path
) -> None:
    reader = Reader()
    bench = Bench.over(database, clock, tmp_path / "memory", reader, timeout=60)
    session = await bench.store.session()
    filler = "some words about the weather of the day " * 38
    words = {0: "anchor", 75: "birch", 149: "comet"}
    for number in range(150):
        begin = f"my code word is {words[number]}. " if number in words else ""
        await bench.store.turn(session, user(f"{begin}{filler}"[:1500]), assistant(filler[:1500]))
    await bench.end_conversation(session)
    await bench.run_pending()
    assert sorted((await known(bench)).values()) == [f"The user's code word is {word}." for word in words.values()]
    assert len(reader.asked) > 3
    assert await bench.service.pending() == []


async def test_a_message_that_is_longer_than_a_part_is_read_whole(make: Callable[..., Bench], prompt: Model) -> None:
    bench = make(part_tokens=300)
    words = " ".join(f"word{number}" for number in range(1, 1500))
    await ended(bench, words)
    await bench.run_pending()
    shown = "".join(asked.partition("## Conversation to Process")[2] for asked in prompt.asked)
    assert all(f"word{number}" in shown for number in (1, 700, 1499))
    assert await bench.service.pending() == []


async def test_what_the_time_did_not_suffice_for_is_still_due_and_done_later(
    make: Callable[..., Bench], prompt: Model
) -> None:
    bench = make(part_tokens=200)
    session = await bench.store.session()
    for number in range(12):
        await bench.store.exchange(session, f"number {number}: " + "talk of this and that " * 15, "I see.")
    prompt.answers = [answer(), Completion("nothing usable"), *[answer()] * 50]
    done = await bench.end_conversation(session)
    assert done is not None
    assert done.is_left
    assert await bench.service.pending() != []
    await bench.run_pending()
    assert await bench.service.pending() == []
    shown = "".join(asked.partition("## Conversation to Process")[2] for asked in prompt.asked)
    assert all(f"number {number}:" in shown for number in range(12))


async def test_an_answer_that_is_said_yes_to_is_shown_whole(bench: Bench, prompt: Model) -> None:
    session = await bench.store.session()
    long = "Let me think. " * 40 + "Shall I plan for Lisbon in May?" + " Just say so." * 40
    await bench.store.exchange(session, "where to?", long)
    await bench.store.exchange(session, "yes, exactly", "Noted. " * 200)
    prompt.answers = [
        answer(fact("trip", "The user travels to Lisbon in May.", "plan for Lisbon in May", 2, kind="decision"))
    ]
    await bench.end_conversation(session)
    assert "Shall I plan for Lisbon in May?" in prompt.asked[0]
    assert prompt.asked[0].count("Noted.") < 100
    assert await known(bench) == {"trip": "The user travels to Lisbon in May."}


# any answer


async def test_of_an_answer_that_was_cut_off_what_is_whole_is_used_and_the_rest_asked_for_again(
    bench: Bench, prompt: Model
) -> None:
    whole = answer(
        fact("town", "The user lives in Kyiv.", "I live in Kyiv"), fact("pet", "The user has a cat.", "I have a cat", 3)
    )
    prompt.answers = [Completion(whole[: whole.index("has a cat")], is_whole=False), whole]
    await ended(bench, "I live in Kyiv", "I have a cat")
    assert await known(bench) == {"town": "The user lives in Kyiv."}
    await bench.run_pending()
    assert await known(bench) == {"town": "The user lives in Kyiv.", "pet": "The user has a cat."}
    assert await bench.service.pending() == []


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"result": json.loads(answer(fact("town", "The user lives in Kyiv.", "I live in Kyiv")))}),
        '{"history_entry": "They talked.", "facts": ["The user lives in Kyiv."]}',
        '{"history_entry": "They talked.", "facts": {"town": "The user lives in Kyiv."}}',
        '{"facts": [{"subject": "town", "fact": "The user lives in Kyiv."}]}',
        "{'history_entry': 'They talked.', 'facts': [{'subject': 'town', 'fact': 'The user lives in Kyiv.',}],}",
    ],
)
async def test_an_answer_is_used_as_far_as_it_goes(bench: Bench, prompt: Model, text: str) -> None:
    prompt.answers = [text]
    await ended(bench, "I live in Kyiv")
    assert list((await known(bench)).values()) == ["The user lives in Kyiv."]


async def test_a_history_entry_is_stamped_where_the_model_left_that_out(bench: Bench, prompt: Model) -> None:
    prompt.answers = [answer(history_entry="They talked of Kyiv.")]
    await ended(bench, "I live in Kyiv")
    assert "[2026-02-07 12:15] They talked of Kyiv." in (bench.files.folder(OWNER) / "HISTORY.md").read_text()


async def test_a_line_that_was_merged_into_another_does_not_come_back(bench: Bench, prompt: Model) -> None:
    bench.write_memory(
        OWNER, "- Bo is a cat.\n- Bo is grey.\n- Ann is a friend.\n- Ben is a friend.\n- Cy is a friend.\n"
    )
    merged = "- Bo is a grey cat.\n- Ann is a friend.\n- Ben is a friend.\n- Cy is a friend.\n"
    prompt.answers = [answer(memory_update=merged)]
    await ended(bench, "Bo is a grey cat, you know")
    assert bench.memory_path(OWNER).read_text() == merged
