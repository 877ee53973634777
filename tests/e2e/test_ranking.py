"""Tests of ranking: neighbours, speakers, meaning, and questions without an answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.embedding import embed_missing
from benchmarks.languages import read_notes
from memory.log.sessions import Session
from memory.messages import Message, Role
from memory.search.formatting import MAX_EXCERPT_CHARS
from memory.search.ranking import Ranker
from memory.search.recall import Recall
from memory.search.search import Search
from memory.search.types import MESSAGE_KIND, Filter
from memory.store.database import Database
from memory.store.entry import NewEntry
from memory.text.query_terms import QueryTerms
from memory.text.tokens import TokenCounter
from tests.support.fakes import FakeClock
from tests.support.features import needs_feature
from tests.support.servers.embedder import MeaningEmbedder
from tests.support.talk import Store, assistant, in_utc, user

UNRELATED = json.loads((Path(__file__).parent.parent / "sets" / "unrelated_messages.json").read_text(encoding="utf-8"))
EXCHANGES = (
    ("My sister Olena moved to Lviv in March", "How exciting! I hope she feels at home there."),
    ("Can you write a short birthday poem for my dog Rex?", "Of course: Rex, old friend, you guard our days."),
    ("I always run five kilometres in the morning", "That is a great habit, keep it up."),
    ("What is a good recipe for pancakes?", "Mix flour, milk and eggs, and fry them in butter."),
    ("The garage door is broken, the repair costs 240 euros", "I hope it gets fixed soon."),
    ("We watched a football game with the kids", "Who won?"),
    ("How do I list files in a folder by size?", "Use ls with the options l, h and S."),
    ("Ich habe heute einen Termin beim Zahnarzt", "Viel Glück, es tut sicher nicht weh."),
    ("Мой поезд в Киев отправляется в семь утра", "Хорошей дороги!"),
    ("Mi hija toca el piano los martes", "¡Qué bonito!"),
    ("Ma voiture est chez le garagiste", "J'espère que ce n'est pas grave."),
    ("Моя кішка спить на підвіконні", "Як мило!"),
    ("我的办公室在三楼", "知道了，三楼。"),
)


@pytest.fixture
def store(database: Database, clock: FakeClock) -> Store:
    """Return the services on a fresh database."""
    return Store.create(database, clock)


@pytest.fixture
def recall(database: Database) -> Recall:
    """Return the recall on that database."""
    return Recall(Search(database), database, TokenCounter(), in_utc)


@pytest.fixture
async def session(store: Store) -> Session:
    return await store.session()


async def find_relevant(store: Store, recall: Recall, session: Session, question: str) -> str:
    visible = await store.sessions.read_transcript(session.id)
    found = await recall.find(question, session.owner, visible)
    return (await recall.format_relevant(found, visible, 1_200)).text


async def test_answer_is_ranked_above_messages_with_only_its_words(
    store: Store, recall: Recall, session: Session
) -> None:
    for number in range(5):
        await store.commit_exchange(session, f"The lighthouse has a garden {number}", "It does.")
    await store.commit_turn(
        session, user("Who keeps the lighthouse?"), assistant("That is old Taras Bulba from Odesa.")
    )
    await store.sessions.clear_messages(session.id)
    hits = await recall.find_hits("who is the one that keeps the lighthouse", session.owner, Filter([MESSAGE_KIND]), 2)
    assert "Taras" in " ".join(hit.content for hit in hits)


@pytest.mark.parametrize(("question", "first"), [("What did I cook?", "I cooked"), ("What did you cook?", "You can")])
async def test_pronouns_in_private_chat_mean_user_and_assistant(
    store: Store, recall: Recall, session: Session, question: str, first: str
) -> None:
    await store.commit_turn(session, user("I cooked borscht"), assistant("You can cook, borscht is not easy"))
    await store.sessions.clear_messages(session.id)
    hits = await recall.find_hits(question, session.owner, Filter([MESSAGE_KIND]), 2)
    assert hits[0].content.startswith(first)


@pytest.mark.parametrize(
    ("question", "speaker"), [("When does Olena swim?", "Olena"), ("Wann schwimmt Taras", "Taras")]
)
async def test_group_message_of_the_named_speaker_is_ranked_first(
    store: Store, recall: Recall, session: Session, question: str, speaker: str
) -> None:
    for name, text in (("Taras", "I swim, schwimmt at noon"), ("Olena", "I swim, schwimmt at noon too")):
        await store.commit_turn(session, Message(Role.USER, text, store.clock(), speaker=name))
    hits = await recall.find_hits(question, session.owner, Filter([MESSAGE_KIND]), 2)
    assert hits[0].source == speaker


@pytest.mark.parametrize("question", ["How is the household hound addressed?", "Что с нашей собакой?"])
@needs_feature("vectors")
async def test_near_meaning_precedes_a_single_matching_word(
    store: Store, database: Database, session: Session, question: str
) -> None:
    told = "Some dachshund named Biscuit came by this morning"
    for said in ("The household waste goes out on Friday", told, *(said for said, _ in EXCHANGES)):
        await store.commit_turn(session, user(said))
    meanings = {"dachshund": "dog", "hound": "dog", "собакой": "dog", "named": "name", "addressed": "name"}
    vectors = await embed_missing(database, Search(database), MeaningEmbedder(meanings))
    recall = Recall(Search(database), database, TokenCounter(), in_utc, Ranker(database, vectors))
    hits = await recall.find_hits(question, session.owner, Filter(kinds=[MESSAGE_KIND]), 3)
    assert hits[0].content == told


@pytest.mark.parametrize("number", ["4711-0815", "1Z999AA10123456784", "B2-1"])
async def test_number_far_back_in_a_long_text_is_shown_whole(
    store: Store, recall: Recall, session: Session, number: str
) -> None:
    text = f"{'blah ' * 300}locker{'blah ' * 20}the number {number} is the one {'blah ' * 300}"
    await store.commit_exchange(session, text, "Noted.")
    await store.sessions.clear_messages(session.id)
    line = await find_relevant(store, recall, session, f"what is {number} for?")
    assert number in line
    assert len(line) < MAX_EXCERPT_CHARS + 100


@pytest.mark.parametrize("number", [10, 60])
async def test_relevant_memory_fills_the_token_budget(
    store: Store, recall: Recall, session: Session, number: int
) -> None:
    for lamp in range(number):
        await store.commit_exchange(session, f"Lamp {lamp} of the lighthouse is broken, the keeper says", "I see.")
    await store.sessions.clear_messages(session.id)
    text = await find_relevant(store, recall, session, "Which lamps of the lighthouse are broken?")
    assert len(text.splitlines()) == 1 + number or 1_100 < TokenCounter().count(text) <= 1_200


@pytest.mark.parametrize(("kind", "most"), [("off_topic", 0.25), ("small_talk", 0.1), ("small_talk_held", 0.1)])
async def test_unrelated_message_recalls_little(
    store: Store, recall: Recall, session: Session, kind: str, most: float
) -> None:
    for asked, answered in EXCHANGES:
        await store.commit_exchange(session, asked, answered)
        await store.sessions.clear_messages(session.id)
    messages = [message for some in UNRELATED[kind].values() for message in some]
    shown = [message for message in messages if await find_relevant(store, recall, session, message)]
    assert len(shown) <= most * len(messages), shown


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where did my sister move?", "Lviv"),
        ("Hello, remind me what the garage door costs", "240"),
        ("Thanks! And what is my dog called?", "Rex"),
        ("Wann war mein Termin beim Zahnarzt?", "Zahnarzt"),
        ("Когда мой поезд?", "семь"),
        ("¿Cuándo toca mi hija el piano?", "martes"),
        ("Où est ma voiture ?", "garagiste"),
        ("Де спить моя кішка?", "підвіконні"),
        ("我的办公室在哪里？", "三楼"),
        ("Tell me about the garage again please", "240"),
    ],
)
async def test_related_question_recalls_its_answer(
    store: Store, recall: Recall, session: Session, question: str, answer: str
) -> None:
    for asked, answered in EXCHANGES:
        await store.commit_exchange(session, asked, answered)
        await store.sessions.clear_messages(session.id)
    assert answer in await find_relevant(store, recall, session, question)


async def test_notes_in_twelve_languages_are_recalled(store: Store, recall: Recall, session: Session) -> None:
    notes, questions = read_notes()
    for number, note in enumerate(notes):
        await store.entries.add(session.owner, NewEntry(note, name=f"n{number}"))
    missed = [
        text for _, text, note in questions if notes[note] not in await find_relevant(store, recall, session, text)
    ]
    assert len(missed) <= len(questions) // 20, missed


@pytest.mark.parametrize(
    ("question", "text", "terms"),
    [
        ("painted walls", "We paint a wall", 2),
        ("Кому звонила Анна", "Анне звонили", 2),
        ("ёлка", "Ёлки стоят", 1),
        ("Wo ist die Küche", "viele Küchen", 1),
        ("钥匙在哪里", "备用钥匙", 1),
        ("car", "a career", 0),
    ],
)
def test_query_terms_match_other_word_forms(question: str, text: str, terms: int) -> None:
    assert len(QueryTerms(question).count_terms(text)) == terms
    assert len(QueryTerms(question).find_positions(text)) == terms
