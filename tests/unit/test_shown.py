"""Tests of recognising what a prompt already contains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.messages import Message, Passage, Provenance, Role
from memory.search.activation_candidates import ActivatedMemory
from memory.search.formatting import NOTHING_IN_PROMPT, AlreadyInPrompt
from memory.store.entry import Kind, NewEntry
from memory.text.tokens import TokenCounter
from tests.support.activating import ActivationBench
from tests.support.talk import NOON, Store, assistant, user

OWNER = "telegram:12345"
count = TokenCounter().count


async def activate(store: Store, shown: AlreadyInPrompt, message: str = "tea") -> tuple[ActivatedMemory, ...]:
    activating = ActivationBench.create(store.database, store.clock)
    found = await activating.search.find_for_message(message, OWNER, 0)
    pool = await activating.activation.read_pool(OWNER, 800, found)
    return activating.activation.select_contextual(pool, (), 800, count, shown)


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ("- Drinks green tea", "drinks green tea."),
        ("* Drinks   green tea. Lives in Kyiv.", "Lives in Kyiv"),
        ("- пьёт зелёный чай", "Пьёт зелёный чай"),
        ("- 他喜欢喝茶。他住在基辅。", "他住在基辅"),
    ],
)
def test_text_is_recognised_in_any_layout(line: str, content: str) -> None:
    assert NOTHING_IN_PROMPT.with_lines(f"# About\n{line}\n").contains(content)


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ("- Drinks no green tea", "Drinks green tea"),
        ("- Drinks green tea", "Drinks 3 cups of green tea"),
        ("- If it rains he drinks green tea", "drinks green tea"),
        ("- Anna trusts Ben", "Ben trusts Anna"),
        ("- birthplace: Kyiv", "home city: Kyiv"),
        ("- Drinks green tea", "Drinks green tea. Never in the evening."),
        ("- -5 degrees", "5 degrees"),
    ],
)
def test_text_with_more_or_other_content_is_not_recognised(line: str, content: str) -> None:
    assert not NOTHING_IN_PROMPT.with_lines(line).contains(content)


@given(st.lists(st.text(min_size=1), max_size=5))
def test_each_line_is_recognised_in_its_own_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    shown = NOTHING_IN_PROMPT.with_lines(text)
    assert all(shown.contains(line) for line in text.splitlines() if any(map(str.isalnum, line)))


def test_only_text_typed_by_the_user_counts() -> None:
    forwarded = Message(Role.USER, "I drink tea", NOON, provenance=Provenance.FORWARDED, turn_id=1)
    shown = NOTHING_IN_PROMPT.with_messages([forwarded, assistant("I drink tea", turn=2)])
    assert not shown.contains("I drink tea", turn=1)
    assert shown.with_messages([user("I drink tea", turn=3)]).contains("I drink tea")
    quoted = "- [2026-02-07 12:15, conversation] User: I drink tea | Assistant: I see."
    assert NOTHING_IN_PROMPT.with_passage(Passage(quoted)).contains("I drink tea")
    under_its_day = "- [2026-02-07, conversation]\n  12:15 User: I drink tea | Assistant: I see.\n  12:20 User: I row"
    assert NOTHING_IN_PROMPT.with_passage(Passage(under_its_day)).contains("I drink tea")
    assert NOTHING_IN_PROMPT.with_passage(Passage(under_its_day)).contains("I row")
    within = Passage("- [x] User: I drink tea. I row. | Assistant: I see.")
    assert not NOTHING_IN_PROMPT.with_passage(within).contains("I row")
    assert not NOTHING_IN_PROMPT.with_passage(Passage(quoted, Provenance.FORWARDED)).contains("I drink tea")


async def test_memory_is_not_shown_next_to_its_source_message(store: Store) -> None:
    session = await store.session()
    turn = await store.commit_exchange(session, "By the way, from now on I drink green tea in the morning", "Fine.")
    message = await store.database.value("SELECT min(id) FROM messages WHERE turn_id = ?", (turn,))
    entry = await store.entries.add(OWNER, NewEntry("I drink green tea in the morning", kind=Kind.PREFERENCE))
    async with store.database.transaction() as connection:
        await connection.execute("UPDATE entries SET source_message_id = ? WHERE id = ?", (message, entry.id))
    visible = (await store.sessions.read_transcript(session.id)).messages
    assert await activate(store, NOTHING_IN_PROMPT.with_messages(visible)) == ()
    # After the edit, the memory no longer matches the message.
    await store.entries.write(OWNER, entry.name, "I drink green tea in the evening")
    assert len(await activate(store, NOTHING_IN_PROMPT.with_messages(visible))) == 1
    # A conversation that is not visible doesn't count.
    await store.entries.write(OWNER, entry.name, "I drink green tea in the morning")
    assert len(await activate(store, NOTHING_IN_PROMPT)) == 1


async def test_equal_memories_are_shown_once_in_the_strongest_version(store: Store) -> None:
    await store.entries.add(OWNER, NewEntry("drinks green tea", kind=Kind.FACT))
    await store.entries.add(OWNER, NewEntry("Drinks green tea.", kind=Kind.PITFALL))
    await store.entries.add(OWNER, NewEntry("drinks green tea", kind=Kind.FACT, scope="office/**"))
    lines = [one.line.partition(", ")[2] for one in await activate(store, NOTHING_IN_PROMPT)]
    assert sorted(lines) == ["fact by user, for office/**] drinks green tea", "pitfall by user] Drinks green tea."]


async def test_memory_in_a_passage_or_memory_md_is_not_repeated(store: Store) -> None:
    await store.entries.add(OWNER, NewEntry("drinks green tea", kind=Kind.FACT))
    await store.entries.add(OWNER, NewEntry("drinks black tea", kind=Kind.FACT))
    quoted = Passage("- [2026-02-07 12:15, note tea] drinks green tea")
    left = await activate(store, NOTHING_IN_PROMPT.with_passage(quoted))
    assert ["black" in one.line for one in left] == [True]
    assert await activate(store, NOTHING_IN_PROMPT.with_passage(quoted).with_lines("- Drinks black tea")) == ()
