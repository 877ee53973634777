"""What a chat has chosen is kept, and decides in which language it is spoken to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.languages import Languages
from memory.clock import system_clock
from memory.log.sessions import Address
from memory.messages import Provenance
from memory.runtime.preferences import Notices, Preferences, PreferenceStore
from pipeline.arrival import Arrival

if TYPE_CHECKING:
    from memory.store.database import Database

HOME = Address("telegram", "7")
GROUP = Address("telegram", "-100", "5")


def says(address: Address, language: str | None, speaker: str | None = None) -> Arrival:
    # the channel plays no part in it
    return Arrival(address, "hi", Provenance.TYPED, system_clock(), None, speaker=speaker, language=language)  # type: ignore[arg-type]


async def test_what_is_chosen_is_kept_over_a_restart(database: Database) -> None:
    await PreferenceStore(database).change(HOME.owner, language="de", zone="Europe/Berlin", notices=Notices.QUIET)
    again = PreferenceStore(database)
    assert await again.get(HOME.owner) == Preferences("de", None, "Europe/Berlin", Notices.QUIET)
    assert await again.get("telegram:8") == Preferences()


async def test_the_language_of_ones_program_is_spoken_and_remembered(database: Database) -> None:
    languages = Languages(PreferenceStore(database))
    assert await languages.of(says(HOME, "uk-UA")) == "uk"
    assert await Languages(PreferenceStore(database)).of_chat(HOME.owner) == "uk"
    assert await languages.of(says(HOME, "pl")) == "uk"
    assert await languages.of(says(HOME, "fr")) == "fr"
    assert await languages.of_chat(HOME.owner) == "fr"


async def test_what_was_asked_for_goes_before_the_program(database: Database) -> None:
    preferences = PreferenceStore(database)
    await preferences.change(HOME.owner, language="es")
    assert await Languages(preferences).of(says(HOME, "de")) == "es"


async def test_a_group_answers_each_in_their_language_and_keeps_the_first(database: Database) -> None:
    languages = Languages(PreferenceStore(database))
    assert await languages.of(says(GROUP, "ru", "Ann")) == "ru"
    assert await languages.of(says(GROUP, "zh-hans", "Bob")) == "zh"
    assert await languages.of_chat(GROUP.owner) == "ru"


async def test_what_a_crowd_writes_in_is_remembered_beside_what_each_has_chosen(database: Database) -> None:
    preferences = PreferenceStore(database)
    await preferences.change(HOME.owner, language="es", zone="Europe/Berlin")
    strangers = [Address("telegram", str(chat)) for chat in range(100, 120)]
    topic = Address("telegram", "-100", "6")
    crowd = [says(HOME, "de"), says(GROUP, "ru", "Ann"), says(topic, "zh-hans", "Bob"), says(Address("x", "1"), "tlh")]
    await Languages(preferences).expect([*crowd, *(says(address, "uk-UA") for address in strangers)])
    for kept in (preferences, PreferenceStore(database)):
        assert await kept.get(HOME.owner) == Preferences("es", "de", "Europe/Berlin")
        assert [await kept.language(address.owner) for address in (*strangers, GROUP)] == ["uk"] * 20 + ["ru"]
        assert await kept.get("x:1") == Preferences()


async def test_nobody_is_left_without_an_answer_where_nothing_can_be_kept(database: Database) -> None:
    await database.write("DROP TABLE preferences")
    languages = Languages(PreferenceStore(database))
    assert await languages.of(says(HOME, "de")) == "de"
    assert await languages.of_chat(HOME.owner) == "en"
