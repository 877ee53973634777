"""Tests of `# Relevant Memory`: which earlier conversations and entries are in a request."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from bot.kernel import App
from memory.log.sessions import Session
from memory.messages import Message, Passage, Provenance, Role
from memory.search.formatting import MAX_EXCERPT_CHARS
from memory.search.recall import Recall
from memory.search.search import Search
from memory.search.types import Filter
from memory.store.database import Database
from memory.store.entry import Kind, NewEntry
from memory.text.tokens import TokenCounter
from pipeline.arrival import Arrival
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.talk import Store, assistant, calls, result, user

KYIV = ZoneInfo("Europe/Kyiv")
PLENTY = 10_000


@pytest.fixture
def store(database: Database, clock: FakeClock) -> Store:
    """Return the services on a fresh database."""
    return Store.create(database, clock)


@pytest.fixture
def recall(database: Database) -> Recall:
    """Return the recall on that database."""
    return Recall(Search(database), database, TokenCounter(), lambda _: KYIV)


@pytest.fixture
async def session(store: Store) -> Session:
    return await store.session()


async def find_relevant(
    store: Store, recall: Recall, session: Session, question: str, tokens: int = PLENTY
) -> list[str]:
    visible = await store.sessions.read_transcript(session.id)
    found = await recall.find(question, session.owner, visible)
    return (await recall.format_relevant(found, visible, tokens)).text.splitlines()


async def add_earlier_exchange(store: Store, session: Session, asked: str, answered: str = "I see.") -> None:
    """Add an exchange of a conversation that has ended."""
    await store.commit_exchange(session, asked, answered)
    await store.sessions.clear_messages(session.id)


def extract_relevant_memory(request: str) -> str:
    """Return the part of a request with relevant memory."""
    return request.partition("# Relevant Memory\n")[2].partition("\n\nNow: ")[0]


async def test_single_common_word_is_not_relevant(store: Store, recall: Recall, session: Session) -> None:
    for other in ("The kettle is broken", "Some gravel arrived", "One curtain looks old"):
        await add_earlier_exchange(store, session, other)
    await add_earlier_exchange(store, session, "Could you explain this carpet pattern again?")
    assert await find_relevant(store, recall, session, "Explain photosynthesis and respiration") == []
    assert await find_relevant(store, recall, session, "Explain the carpet pattern") != []


async def test_statement_shows_only_memories_on_the_same_subject(
    store: Store, recall: Recall, session: Session
) -> None:
    await add_earlier_exchange(store, session, "That was a lovely concert in the garden yesterday")
    assert await find_relevant(store, recall, session, "What a lovely evening with friends, so much laughing") == []
    assert await find_relevant(store, recall, session, "The concert was really so lovely") != []
    assert await find_relevant(store, recall, session, "Which concert?") != []


async def test_exchange_before_new_is_in_the_request_with_its_date(
    person: Person, model: ModelServer, clock: FakeClock
) -> None:
    model.script(Says("I will keep that in mind."))
    await person.says("The number of the locker at the station was 4711")
    assert extract_relevant_memory(model.requests[-1].system()) == ""
    await person.says("/new")
    clock.forward(days=20)
    await person.says("What is the number of my locker?")
    request = model.requests[-1]
    assert extract_relevant_memory(request.system()).splitlines()[-1] == (
        "- [2026-02-07 12:15, conversation] User: The number of the locker at the station was 4711"
        " | Assistant: I will keep that in mind."
    )
    assert request.added.startswith("# Relevant Memory\n")
    assert request.last == "What is the number of my locker?"


TALK = (
    "The bus broke down again this morning.",
    "I walked the last mile home and had soup from a tin.",
    "Everybody at the office was tired, and the lift got stuck twice!",
)


@pytest.mark.parametrize(
    "message",
    [
        " ".join((*TALK, "What is the number of my locker?")),
        " ".join(("What is the number of my locker?", *TALK)),
        " ".join((TALK[0], "What is the number of my locker?", *TALK[1:])),
        " ".join((*TALK, "Anyway, do you remember the number of my locker. Bye!")),
        "\n".join((*TALK, "what was the number of my locker")),
        " ".join((*TALK, "It is late and I must leave in a minute and what was the number of my locker?")),
    ],
)
async def test_question_among_other_sentences_is_answered_from_memory(
    person: Person, model: ModelServer, message: str
) -> None:
    await person.says("The number of the locker at the station was 4711")
    await person.says("/new")
    await person.says(message)
    assert "was 4711" in extract_relevant_memory(model.requests[-1].system())
    assert model.requests[-1].last == message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            "The number of the locker at the station was 4711",
            "the bus broke and i had soup from a tin we were tired what is the number of my locker i go to bed now",
        ),
        (
            "Il numero dell'armadietto alla stazione era 4711",
            "l'autobus si è fermato e ho mangiato la zuppa fredda ricordami il numero dell'armadietto poi vado a letto",
        ),
        (
            "駅のロッカーの番号は4711でした",
            "今朝またバスが壊れて歩いて帰ったので疲れました会社でもみんな眠そうでした駅のロッカーの番号を教えてほしいそれから寝ます",
        ),
    ],
)
async def test_question_in_speech_without_punctuation_is_answered_from_memory(
    store: Store, recall: Recall, session: Session, said: str, message: str
) -> None:
    await add_earlier_exchange(store, session, said)
    for other in ("The kettle is broken", "Some gravel arrived", "One curtain looks old"):
        await add_earlier_exchange(store, session, other)
    assert "4711" in " ".join(await find_relevant(store, recall, session, message))


async def test_statement_with_a_common_word_shows_nothing(person: Person, model: ModelServer) -> None:
    await person.says("The number of the locker at the station was 4711")
    await person.says("/new")
    await person.says(" ".join((*TALK, "Then I stood at the station.")))
    assert extract_relevant_memory(model.requests[-1].system()) == ""


async def test_two_questions_in_a_message_share_the_budget(store: Store, recall: Recall, session: Session) -> None:
    for number in range(10, 40):
        await add_earlier_exchange(store, session, f"The lighthouse number {number} is white")
        await add_earlier_exchange(store, session, f"The suitcase number {number} is lost")
    both = f"{TALK[0]} Which lighthouses are white? {TALK[1]} Which suitcases are lost?"
    lines = await find_relevant(store, recall, session, both, tokens=400)
    found = [sum(word in line for line in lines) for word in ("lighthouse", "suitcase")]
    assert sum(found) == len(lines) > 10
    assert abs(found[0] - found[1]) <= 1


async def test_question_without_hits_leaves_its_budget_to_the_other(
    store: Store, recall: Recall, session: Session
) -> None:
    for number in range(10, 40):
        await add_earlier_exchange(store, session, f"The lighthouse number {number} is white")
    alone = await find_relevant(store, recall, session, "Which lighthouses are white?", tokens=400)
    both = await find_relevant(
        store, recall, session, "Which lighthouses are white? Who won the cup in 1998?", tokens=400
    )
    assert sorted(both) == sorted(alone)


async def test_question_is_searched_together_with_the_sentence_before(
    store: Store, recall: Recall, session: Session
) -> None:
    for name in ("Taras", "Marco", "Nadia", "Pavlo"):
        await add_earlier_exchange(store, session, f"The birthday of my cousin {name} is in {name}tember")
    lines = await find_relevant(
        store, recall, session, "My cousin Nadia comes to visit. When is the birthday?", tokens=60
    )
    assert "Nadiatember" in " ".join(lines)


async def test_question_of_two_sentences_among_others_is_searched_whole(
    store: Store, recall: Recall, session: Session
) -> None:
    for name in ("Taras", "Marco", "Nadia", "Pavlo"):
        await add_earlier_exchange(store, session, f"The birthday of my cousin {name} is in {name}tember")
    message = " ".join((*TALK, "You remember my cousin Nadia? When is the birthday?", *TALK))
    assert "Nadiatember" in (await find_relevant(store, recall, session, message, tokens=120))[0]


@pytest.mark.parametrize(
    ("said", "before", "message"),
    [
        ("The ferry to Oban leaves the old pier at half past six", "Shall I take the ferry to Oban?", "And when?"),
        ("Паром до Одеси відпливає о пів на сьому", "Мені їхати паромом до Одеси?", "А коли?"),
        ("去奥本的渡轮六点半开船", "我要不要坐去奥本的渡轮？", "什么时候？"),
    ],
)
async def test_short_question_is_searched_with_the_exchange_before_it(
    store: Store, recall: Recall, session: Session, said: str, before: str, message: str
) -> None:
    await add_earlier_exchange(store, session, said)
    assert await find_relevant(store, recall, session, message) == []
    await store.commit_exchange(session, before, "Yes, why not.")
    assert said in " ".join(await find_relevant(store, recall, session, message))
    for other in ("Thanks!", "How are you?", "What is the capital of Australia?"):
        assert await find_relevant(store, recall, session, other) == []


async def test_short_question_is_searched_with_the_answer_before_it(
    store: Store, recall: Recall, session: Session
) -> None:
    await add_earlier_exchange(store, session, "Mary keeps bees on the roof of the library")
    await store.commit_exchange(session, "Who is the sister of Ann?", "Her sister is Mary, who keeps bees.")
    assert "library" in " ".join(await find_relevant(store, recall, session, "And where?"))


async def test_relevant_memory_is_not_kept_in_history(person: Person, model: ModelServer) -> None:
    await person.says("The number of the locker was 4711")
    await person.says("/new")
    await person.says("Which locker?")
    await person.says("Tell me about penguins")
    assert extract_relevant_memory(model.requests[-2].system()) != ""
    assert extract_relevant_memory(model.requests[-1].system()) == ""


async def test_recall_is_off_without_memory(start: OpenApp, model: ModelServer) -> None:
    async with start(memory_enabled=False) as app:
        person = Person(app)
        await person.says("The number of the locker was 4711")
        await person.says("/new")
        await person.says("Which locker?")
    assert extract_relevant_memory(model.requests[-1].system()) == ""


async def test_messages_of_the_current_conversation_are_not_recalled(
    store: Store, recall: Recall, session: Session
) -> None:
    await add_earlier_exchange(store, session, "The lighthouse is white")
    await store.commit_exchange(session, "The lighthouse is red now", "Noted.")
    lines = await find_relevant(store, recall, session, "What colour is the lighthouse?")
    assert len(lines) == 1
    assert "white" in lines[0]


async def test_long_conversation_does_not_hide_an_earlier_one(store: Store, recall: Recall, session: Session) -> None:
    await add_earlier_exchange(
        store, session, "The lighthouse of Odesa is white, the keeper told me, and has 112 steps"
    )
    for number in range(40):
        await store.commit_exchange(session, f"lighthouse {number}", f"lighthouse answer {number}")
    lines = await find_relevant(store, recall, session, "lighthouse")
    assert len(lines) == 1
    assert "112 steps" in lines[0]


async def test_compacted_messages_are_recalled(store: Store, recall: Recall, session: Session) -> None:
    await add_earlier_exchange(store, session, "The lighthouse is white")
    archive = await store.archive(session.owner, "We spoke of the lighthouse keeper.", "lighthouse keeper")
    lines = await find_relevant(store, recall, session, "lighthouse")
    assert f"- [2026-02-07 14:15, archive {archive.name}] We spoke of the lighthouse keeper." in lines
    assert "- [2026-02-07 14:15, conversation] User: The lighthouse is white | Assistant: I see." in lines


@pytest.mark.parametrize("question", ["Hi!", "Thanks a lot", "ok", "Доброе утро, спасибо", ""])
async def test_greetings_and_acknowledgements_search_nothing(
    store: Store, recall: Recall, session: Session, question: str
) -> None:
    await add_earlier_exchange(store, session, "Thanks a lot for the lighthouse, good morning, спасибо и доброе утро")
    assert await find_relevant(store, recall, session, question) == []


async def test_greetings_and_acknowledgements_are_not_shown(store: Store, recall: Recall, session: Session) -> None:
    await store.commit_turn(session, user("ok thanks", store.clock()))
    await add_earlier_exchange(store, session, "The lighthouse is closed, thanks to the storm")
    lines = await find_relevant(store, recall, session, "Why thanks and ok to the lighthouse?")
    assert [line for line in lines if "ok thanks" in line] == []
    assert len(lines) == 1


async def test_recall_shows_notes_archives_and_episodes_only(store: Store, recall: Recall, session: Session) -> None:
    for kind in (Kind.NOTE, Kind.ARCHIVE, Kind.EPISODE, Kind.FACT, Kind.POLICY):
        await store.entries.add(session.owner, NewEntry("the lighthouse", name=f"the {kind}", kind=kind))
    lines = await find_relevant(store, recall, session, "lighthouse")
    assert sorted(line.partition("]")[0] for line in lines) == [
        f"- [2026-02-07 14:15, {kind} the {kind}" for kind in ("archive", "episode", "note")
    ]


async def test_superseded_and_archived_entries_are_not_shown(store: Store, recall: Recall, session: Session) -> None:
    ids = [
        (await store.entries.add(session.owner, NewEntry(f"the lighthouse {name}", name=name))).id
        for name in ("now", "former", "archived")
    ]
    async with store.database.transaction() as connection:
        await connection.execute("UPDATE entries SET superseded_by = ? WHERE id = ?", ids[:2])
        await connection.execute("UPDATE entries SET archived_at = created_at WHERE id = ?", ids[2:])
    assert [line[-3:] for line in await find_relevant(store, recall, session, "lighthouse")] == ["now"]


async def test_memory_of_other_owners_is_never_shown(store: Store, recall: Recall, session: Session) -> None:
    other = await store.session("2")
    await add_earlier_exchange(store, other, "The lighthouse is white")
    await store.entries.add(other.owner, NewEntry("lighthouse"))
    assert await find_relevant(store, recall, session, "lighthouse") == []


async def test_budget_is_filled_with_whole_lines(store: Store, recall: Recall, session: Session) -> None:
    for number in range(10, 40):
        await add_earlier_exchange(store, session, f"The lighthouse number {number} is white")
    everything = await find_relevant(store, recall, session, "lighthouse")
    assert len(everything) == 30
    cost = TokenCounter().count(everything[0]) + 1
    assert await find_relevant(store, recall, session, "lighthouse", tokens=cost - 1) == []
    for lines in (1, 3):
        assert await find_relevant(store, recall, session, "lighthouse", tokens=cost * lines) == everything[:lines]


async def test_messages_of_one_conversation_and_day_are_shown_in_order(
    store: Store, recall: Recall, session: Session, clock: FakeClock
) -> None:
    await store.commit_exchange(session, "The lighthouse has 112 steps", "That is many.")
    clock.forward(minutes=5)
    await store.commit_exchange(session, "The keeper of the white lighthouse is called Taras", "I see.")
    clock.forward(days=1)
    await store.commit_exchange(session, "The lighthouse was closed", "A pity.")
    await store.sessions.clear_messages(session.id)
    lines = await find_relevant(store, recall, session, "Who is the keeper of the white lighthouse?")
    assert lines == [
        "- [2026-02-07, conversation]",
        "  14:15 User: The lighthouse has 112 steps | Assistant: That is many.",
        "  14:20 User: The keeper of the white lighthouse is called Taras | Assistant: I see.",
        "- [2026-02-08 14:20, conversation] User: The lighthouse was closed | Assistant: A pity.",
    ]
    cost = TokenCounter().count("\n".join(lines)) + 2
    assert await find_relevant(store, recall, session, "Who is the keeper of the white lighthouse?", cost) == lines
    fewer = await find_relevant(store, recall, session, "Who is the keeper of the white lighthouse?", cost - 1)
    assert len(fewer) < len(lines)


async def test_conversations_of_one_day_are_shown_separately(store: Store, recall: Recall, session: Session) -> None:
    for number in range(2):
        await add_earlier_exchange(store, session, f"The lighthouse number {number} is white")
    lines = await find_relevant(store, recall, session, "lighthouse")
    assert [line.partition("]")[0] for line in lines] == ["- [2026-02-07 14:15, conversation"] * 2


async def test_weak_hit_is_not_shown_next_to_a_strong_one(store: Store, recall: Recall, session: Session) -> None:
    for _ in range(20):
        await add_earlier_exchange(store, session, "something about the weather")
    await add_earlier_exchange(store, session, "zebra giraffe okapi", "weather")
    lines = await find_relevant(store, recall, session, "zebra giraffe okapi weather")
    assert len(lines) == 1


async def test_exchange_is_shown_once_and_whole(store: Store, recall: Recall, session: Session) -> None:
    await store.commit_turn(
        session, user("the lighthouse"), user("is it white?"), calls("1"), result("1", "lighthouse"), assistant("Yes.")
    )
    await store.sessions.clear_messages(session.id)
    lines = await find_relevant(store, recall, session, "white lighthouse")
    assert lines == ["- [2026-02-07 14:00, conversation] User: the lighthouse | User: is it white? | Assistant: Yes."]


async def test_group_speakers_are_named(store: Store, recall: Recall, session: Session) -> None:
    await store.commit_turn(session, Message(Role.USER, "I like the lighthouse", store.clock(), speaker="Olena"))
    await store.sessions.clear_messages(session.id)
    assert "Olena: I like the lighthouse" in (await find_relevant(store, recall, session, "lighthouse"))[0]


async def test_long_text_shows_the_matching_part(store: Store, recall: Recall, session: Session) -> None:
    text = "blah " * 1000 + "the lighthouse keeper is called Taras, " + "blah " * 1000
    await add_earlier_exchange(store, session, text)
    await store.entries.add(session.owner, NewEntry(text, name="long"))
    for line in await find_relevant(store, recall, session, "Who keeps the lighthouse? The keeper of lighthouses"):
        assert "the lighthouse keeper is called Taras" in line
        assert len(line) < MAX_EXCERPT_CHARS + 100


async def test_long_text_without_a_match_shows_its_beginning(store: Store, recall: Recall, session: Session) -> None:
    await add_earlier_exchange(store, session, "lighthouse", f"First words {'blah ' * 1000}")
    line = (await find_relevant(store, recall, session, "lighthouse"))[0]
    assert "Assistant: First words blah" in line
    assert line.endswith("…")


async def test_recall_shows_each_exchange_once_up_to_its_limit(store: Store, recall: Recall, session: Session) -> None:
    for number in range(5):
        await add_earlier_exchange(store, session, f"lighthouse {number}", f"the lighthouse number {number}")
    assert len(await recall.recall("lighthouse", session.owner, Filter(), 3)) == 3
    assert len(await recall.recall("lighthouse", session.owner, Filter(), 50)) == 5
    assert len(await recall.recall("lighthouse", None, Filter(kinds=["note"]), 50)) == 0


async def test_sentence_of_an_entry_and_a_message_is_quoted_once(
    store: Store, recall: Recall, session: Session
) -> None:
    await store.entries.add(session.owner, NewEntry("The lighthouse has a green door", name="door"))
    await add_earlier_exchange(store, session, "The lighthouse has a green door. Its keeper is Ivan.", "Noted.")
    text = "\n".join(await find_relevant(store, recall, session, "What about the lighthouse door and its keeper?"))
    assert text.count("green door") == 1
    assert "Its keeper is Ivan." in text


async def test_quoted_message_is_not_recalled_again(app: App, person: Person, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("Fine.")
    await person.says("The lighthouse of Odesa has a green door")
    await person.says("/new")
    quoted = Passage("User: The lighthouse of Odesa has a green door")
    arrival = Arrival(
        person.address, "Which door has the lighthouse?", Provenance.TYPED, app.clock(), person.channel, quoted=quoted
    )
    model.script(Says("A green one."))
    await app.runner.submit(arrival)
    await app.runner.wait_until_idle(person.address.session_id)
    added = model.requests[-1].added
    assert added.partition("Now: ")[0].count("has a green door") == 1


async def test_memory_is_not_repeated_next_to_its_source_message(app: App, person: Person, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("Fine.")
    await person.says("Remember that the lighthouse of Odesa has a green door")
    async with app.database.transaction() as connection:
        await connection.execute("UPDATE entries SET line = NULL")
    (app.memory.files.get_folder(person.address.owner) / "MEMORY.md").write_text("")
    await person.says("/new")
    await person.says("Which door has the lighthouse of Odesa?")
    assert model.requests[-1].added.partition("Now: ")[0].count("has a green door") == 1


async def test_foreign_recall_leaves_answer_from_own_words_trusted(
    app: App, person: Person, model: ModelServer
) -> None:
    await person.says("The keeper of the lighthouse is Ivan Franko from Odesa")
    await person.says("/new")
    await person.says("The lighthouse sells golden tickets", Provenance.FORWARDED)
    await person.says("/new")
    model.script(Says("The keeper Ivan Franko comes from Odesa."), Says("It sells golden tickets for the lighthouse."))
    for _ in range(2):
        await person.says("What do you know of the lighthouse, its keeper and tickets?")
    assert "golden tickets" in model.requests[-2].added
    rows = await app.database.rows("SELECT provenance FROM messages WHERE role = 'assistant' ORDER BY id DESC LIMIT 2")
    assert [row["provenance"] for row in rows] == ["foreign", None]
