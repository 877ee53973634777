"""Tests of entries: the five operations, refusals, and comparison of names."""

from __future__ import annotations

import pytest

from memory.errors import MemoryRefused
from memory.store.entry import Author, Kind, NewEntry
from memory.store.entry_rows import MAX_CONTENT_CHARS, MAX_NAME_CHARS
from tests.support.talk import Store

OWNER = "telegram:1"
OTHER = "telegram:2"


async def add_note(store: Store, name: str, content: str = "Under the third pot.", owner: str = OWNER) -> None:
    await store.entries.add(owner, NewEntry(content, name=name))


async def list_names(store: Store, owner: str = OWNER) -> list[str]:
    return [entry.name for entry in await store.entries.list(owner)]


async def test_add_returns_the_stored_entry(store: Store) -> None:
    added = await store.entries.add(
        OWNER, NewEntry(" Under the pot. ", name="spare  key", kind=Kind.FACT, tags=("home",), scope="docs/**")
    )
    assert added == await store.entries.get(OWNER, "spare key")
    assert (added.name, added.content, added.kind) == ("spare key", "Under the pot.", Kind.FACT)
    assert (added.tags, added.scope, added.priority) == (("home",), "docs/**", "normal")
    assert (added.author, added.trusted, added.reinforcement_count) == (Author.USER, True, 1)
    assert added.created_at == added.valid_from == store.clock.now


async def test_ids_are_never_reused(store: Store) -> None:
    first = await store.entries.add(OWNER, NewEntry("one", name="a"))
    await store.entries.remove(OWNER, "a")
    store.clock.forward(days=31)
    assert await store.ledger.purge() == 1
    second = await store.entries.add(OWNER, NewEntry("two", name="a"))
    assert second.id > first.id


async def test_entry_without_a_name_is_named_after_its_content(store: Store) -> None:
    added = await store.entries.add(OWNER, NewEntry("The spare key is under the third pot"))
    assert added.name == "spare-key-third"
    again = await store.entries.add(OWNER, NewEntry("The spare key is under the third pot"))
    assert again.name == "spare-key-third-2"


@pytest.mark.parametrize("content", ["the and of", "12345", "!!!", "🙂🙂"])
async def test_entry_of_stop_words_is_called_note(store: Store, content: str) -> None:
    assert (await store.entries.add(OWNER, NewEntry(content))).name == "note"
    assert (await store.entries.add(OWNER, NewEntry(content))).name == "note-2"


async def test_generated_name_avoids_aliases(store: Store) -> None:
    await add_note(store, "ann")
    await store.entries.alias(OWNER, "ann", "GARDEN-TOOLS-SHED")
    assert (await store.entries.add(OWNER, NewEntry("garden tools shed"))).name == "garden-tools-shed-2"


async def test_rename_keeps_the_old_name_as_an_alias(store: Store) -> None:
    await add_note(store, "key")
    renamed = await store.entries.rename(OWNER, "key", "spare key")
    assert (renamed.name, renamed.aliases) == ("spare key", ("key",))
    assert await store.entries.get(OWNER, "key") == renamed


async def test_rename_back_swaps_name_and_alias(store: Store) -> None:
    await add_note(store, "key")
    await store.entries.rename(OWNER, "key", "spare key")
    back = await store.entries.rename(OWNER, "spare key", "key")
    assert (back.name, back.aliases) == ("key", ("spare key",))


async def test_rename_may_change_only_the_case(store: Store) -> None:
    await add_note(store, "ann's key")
    renamed = await store.entries.rename(OWNER, "ann's key", "Ann's Key")
    assert (renamed.name, renamed.aliases) == ("Ann's Key", ())


async def test_rename_through_an_alias_keeps_all_names(store: Store) -> None:
    await add_note(store, "key")
    await store.entries.alias(OWNER, "key", "spare")
    renamed = await store.entries.rename(OWNER, "spare", "third")
    assert (renamed.name, renamed.aliases) == ("third", ("key", "spare"))


async def test_alias_is_accepted_by_each_operation(store: Store) -> None:
    await add_note(store, "key")
    assert (await store.entries.alias(OWNER, "key", "spare")).aliases == ("spare",)
    assert (await store.entries.write(OWNER, "spare", "At Ann's.")).name == "key"
    assert (await store.entries.get(OWNER, "spare")).content == "At Ann's."
    assert (await store.entries.remove(OWNER, "spare")).name == "key"
    assert await list_names(store) == []


async def test_write_replaces_only_the_content(store: Store) -> None:
    before = await store.entries.add(OWNER, NewEntry("old", name="key", kind=Kind.FACT, author=Author.MODEL))
    store.clock.forward(days=1)
    after = await store.entries.write(OWNER, "key", "new")
    assert after.content == "new"
    assert (after.id, after.kind, after.created_at) == (before.id, before.kind, before.created_at)


async def test_write_sets_author_and_trust(store: Store) -> None:
    await store.entries.add(OWNER, NewEntry("mine", name="key", author=Author.CAPTURE))
    by_model = await store.entries.write(OWNER, "key", "theirs", Author.MODEL, trusted=False)
    assert (by_model.author, by_model.trusted) == (Author.MODEL, False)
    by_user = await store.entries.write(OWNER, "key", "mine again")
    assert (by_user.author, by_user.trusted) == (Author.USER, True)
    await store.entries.rename(OWNER, "key", "other", Author.MODEL)
    assert (await store.entries.get(OWNER, "other")).author == Author.USER


async def test_remove_frees_the_name_and_all_aliases(store: Store) -> None:
    await add_note(store, "key")
    await store.entries.alias(OWNER, "key", "spare")
    await store.entries.remove(OWNER, "key")
    for name in ("key", "spare"):
        await add_note(store, name)
    assert await list_names(store) == ["spare", "key"]


@pytest.mark.parametrize("same", ["ann's key", "ANN'S KEY", "  Ann's\t key ", "Ａｎｎ's key", "Ann's\u00a0key"])
async def test_names_ignore_case_width_and_spaces(store: Store, same: str) -> None:
    await add_note(store, "Ann's key")
    assert (await store.entries.get(OWNER, same)).name == "Ann's key"
    with pytest.raises(MemoryRefused, match="taken by a note"):
        await add_note(store, same)


async def test_taken_name_error_names_its_holder(store: Store) -> None:
    await store.entries.add(OWNER, NewEntry("x", name="key", kind=Kind.FACT))
    await store.entries.alias(OWNER, "key", "spare")
    await add_note(store, "other")
    with pytest.raises(MemoryRefused, match="'key' is taken by a fact"):
        await add_note(store, "key")
    for change in (store.entries.rename, store.entries.alias):
        with pytest.raises(MemoryRefused, match="'Spare' is taken by an alias of the fact 'key'"):
            await change(OWNER, "other", "Spare")
    assert (await store.entries.get(OWNER, "other")).aliases == ()


async def test_unknown_name_error_suggests_the_nearest(store: Store) -> None:
    for name in ("spare key", "garden plan", "wifi"):
        await add_note(store, name)
    with pytest.raises(MemoryRefused, match=r"'spare keys'.*did you mean spare key\?"):
        await store.entries.get(OWNER, "spare keys")
    with pytest.raises(MemoryRefused, match=r"did you mean garden plan\?"):
        await store.entries.write(OWNER, "garden", "x")
    with pytest.raises(MemoryRefused, match="/memory shows"):
        await store.entries.remove(OWNER, "zzz")


@pytest.mark.parametrize("name", ["", " \t\n", "\u200b", "\x00\x1b", "\u2060"])
async def test_empty_name_is_refused(store: Store, name: str) -> None:
    with pytest.raises(MemoryRefused, match="can't be empty"):
        await add_note(store, name)
    await add_note(store, "key")
    for change in (store.entries.rename, store.entries.alias):
        with pytest.raises(MemoryRefused, match="can't be empty"):
            await change(OWNER, "key", name)


async def test_name_over_120_characters_is_refused(store: Store) -> None:
    await add_note(store, "n" * MAX_NAME_CHARS)
    with pytest.raises(MemoryRefused, match="longer than 120 characters, and this one has 121"):
        await add_note(store, "m" * (MAX_NAME_CHARS + 1))


@pytest.mark.parametrize("content", ["", "  \n ", "\x00"])
async def test_empty_content_is_refused(store: Store, content: str) -> None:
    with pytest.raises(MemoryRefused, match="empty text"):
        await add_note(store, "key", content)
    await add_note(store, "key")
    with pytest.raises(MemoryRefused, match="empty text"):
        await store.entries.write(OWNER, "key", content)


async def test_content_over_20000_characters_is_refused(store: Store) -> None:
    await add_note(store, "long", "c" * MAX_CONTENT_CHARS)
    with pytest.raises(MemoryRefused, match="at most 20,000 characters, and this one has 20,001"):
        await add_note(store, "longer", "c" * (MAX_CONTENT_CHARS + 1))


async def test_secret_in_any_field_is_refused(store: Store) -> None:
    card = "4111 1111 1111 1111"
    await add_note(store, "key")
    for refused in (
        add_note(store, "card", f"It is {card}."),
        add_note(store, card),
        store.entries.rename(OWNER, "key", card),
        store.entries.alias(OWNER, "key", card),
        store.entries.write(OWNER, "key", card),
        store.entries.add(OWNER, NewEntry("x", name="tagged", tags=(card,))),
        store.entries.add(OWNER, NewEntry("x", name="scoped", scope=card)),
    ):
        with pytest.raises(MemoryRefused, match="looks like a card number, which I never store"):
            await refused
    assert await list_names(store) == ["key"]
    assert await store.database.value("SELECT count(*) FROM changes") == 1


async def test_archive_is_rewritten_by_people_but_not_the_model(store: Store) -> None:
    archive = await store.archive(OWNER, "We spoke of the garden.")
    for refused in (
        store.entries.write(OWNER, archive.name, "Nothing.", Author.MODEL),
        store.entries.remove(OWNER, archive.name, Author.MODEL),
    ):
        with pytest.raises(MemoryRefused, match="is an archive, which is never rewritten: add a note instead"):
            await refused
    assert await store.entries.get(OWNER, archive.name) == archive
    renamed = await store.entries.rename(OWNER, archive.name, "garden", Author.MODEL)
    assert (renamed.name, renamed.aliases, renamed.content) == ("garden", (archive.name,), archive.content)
    assert (await store.entries.write(OWNER, archive.name, "We spoke.")).content == "We spoke."


async def test_unknown_kind_survives(store: Store) -> None:
    added = await store.entries.add(OWNER, NewEntry("Flour, eggs.", name="pancakes", kind="recipe"))
    assert added.kind == "recipe"
    written = await store.entries.write(OWNER, "pancakes", "Flour, eggs, milk.")
    assert written.kind == "recipe"
    assert [entry.kind for entry in await store.entries.list(OWNER, "recipe")] == ["recipe"]
    assert await store.entries.count_by_kind(OWNER) == {"recipe": 1}


async def test_entries_are_separate_for_each_owner(store: Store) -> None:
    await add_note(store, "key", "mine")
    await add_note(store, "key", "theirs", OTHER)
    await store.entries.write(OTHER, "key", "changed")
    assert (await store.entries.get(OWNER, "key")).content == "mine"
    await store.entries.remove(OWNER, "key")
    assert (await store.entries.get(OTHER, "key")).content == "changed"
    with pytest.raises(MemoryRefused, match="/memory shows"):
        await store.entries.get("telegram:3", "key")


async def test_reading_creates_no_owner(store: Store) -> None:
    with pytest.raises(MemoryRefused):
        await store.entries.get("telegram:3", "key")
    assert await store.entries.list("telegram:3") == []
    assert await store.database.value("SELECT count(*) FROM owners") == 0


async def test_get_any_prefers_the_owners_own_entry(store: Store) -> None:
    await add_note(store, "key", "theirs", OTHER)
    assert (await store.entries.get_any("KEY", OWNER)).owner == OTHER
    await add_note(store, "key", "mine")
    assert (await store.entries.get_any("key", OWNER)).owner == OWNER
    with pytest.raises(MemoryRefused, match="choose one of telegram:1, telegram:2"):
        await store.entries.get_any("key", "telegram:3")
    with pytest.raises(MemoryRefused, match=r"did you mean key\?"):
        await store.entries.get_any("keys", OWNER)


async def test_list_is_newest_first_and_paged(store: Store) -> None:
    for number in range(5):
        await add_note(store, f"n{number}")
    await add_note(store, "theirs", owner=OTHER)
    assert await list_names(store) == ["n4", "n3", "n2", "n1", "n0"]
    assert [entry.name for entry in await store.entries.list(OWNER, limit=2, offset=2)] == ["n2", "n1"]
    assert len(await store.entries.list()) == 6


@pytest.mark.parametrize("text", ["half \ud83d a pair", "a\x00b", "a\u2028b", "\u202ereversed", "é" * 50, "👩‍👩‍👧‍👦"])
async def test_any_text_can_be_a_name_and_a_content(store: Store, text: str) -> None:
    added = await store.entries.add(OWNER, NewEntry(f"it says {text}", name=f"a {text}"))
    assert await store.entries.get(OWNER, f"a {text}") == added
    assert (await store.entries.get(OWNER, added.name)).content == added.content
    assert "\x00" not in added.name + added.content


async def test_surrogate_pair_is_joined(store: Store) -> None:
    added = await store.entries.add(OWNER, NewEntry("\ud83d\ude42", name="smile \ud83d\ude42"))
    assert (added.name, added.content) == ("smile 🙂", "🙂")
