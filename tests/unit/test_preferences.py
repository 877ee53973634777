"""Tests of the preferences of a chat, and the choice of its language."""

from __future__ import annotations

from bot.languages import Languages
from memory.clock import system_clock
from memory.log.sessions import Address
from memory.messages import Provenance
from memory.runtime.preferences import Notices, Preferences, PreferenceStore
from memory.store.database import Database
from pipeline.arrival import Arrival

HOME = Address("telegram", "7")
GROUP = Address("telegram", "-100", "5")


def make_arrival(address: Address, language: str | None, speaker: str | None = None) -> Arrival:
    # The channel is irrelevant.
    return Arrival(address, "hi", Provenance.TYPED, system_clock(), None, speaker=speaker, language=language)  # type: ignore[arg-type]


async def test_preferences_survive_a_restart(database: Database) -> None:
    await PreferenceStore(database).change(HOME.owner, language="de", zone="Europe/Berlin", notices=Notices.QUIET)
    again = PreferenceStore(database)
    assert await again.get(HOME.owner) == Preferences("de", None, "Europe/Berlin", Notices.QUIET)
    assert await again.get("telegram:8") == Preferences()


async def test_language_of_the_client_is_used_and_remembered(database: Database) -> None:
    languages = Languages(PreferenceStore(database))
    assert await languages.choose(make_arrival(HOME, "uk-UA")) == "uk"
    assert await Languages(PreferenceStore(database)).get_for_chat(HOME.owner) == "uk"
    assert await languages.choose(make_arrival(HOME, "pl")) == "uk"
    assert await languages.choose(make_arrival(HOME, "fr")) == "fr"
    assert await languages.get_for_chat(HOME.owner) == "fr"


async def test_chosen_language_overrides_the_client(database: Database) -> None:
    preferences = PreferenceStore(database)
    await preferences.change(HOME.owner, language="es")
    assert await Languages(preferences).choose(make_arrival(HOME, "de")) == "es"


async def test_group_answers_in_each_speakers_language_and_keeps_first(database: Database) -> None:
    languages = Languages(PreferenceStore(database))
    assert await languages.choose(make_arrival(GROUP, "ru", "Ann")) == "ru"
    assert await languages.choose(make_arrival(GROUP, "zh-hans", "Bob")) == "zh"
    assert await languages.get_for_chat(GROUP.owner) == "ru"


async def test_languages_of_a_crowd_are_remembered_next_to_choices(database: Database) -> None:
    preferences = PreferenceStore(database)
    await preferences.change(HOME.owner, language="es", zone="Europe/Berlin")
    strangers = [Address("telegram", str(chat)) for chat in range(100, 120)]
    topic = Address("telegram", "-100", "6")
    crowd = [
        make_arrival(HOME, "de"),
        make_arrival(GROUP, "ru", "Ann"),
        make_arrival(topic, "zh-hans", "Bob"),
        make_arrival(Address("x", "1"), "tlh"),
    ]
    await Languages(preferences).store([*crowd, *(make_arrival(address, "uk-UA") for address in strangers)])
    for kept in (preferences, PreferenceStore(database)):
        assert await kept.get(HOME.owner) == Preferences("es", "de", "Europe/Berlin")
        assert [await kept.get_language(address.owner) for address in (*strangers, GROUP)] == ["uk"] * 20 + ["ru"]
        assert await kept.get("x:1") == Preferences()


async def test_language_is_found_although_nothing_can_be_stored(database: Database) -> None:
    await database.write("DROP TABLE preferences")
    languages = Languages(PreferenceStore(database))
    assert await languages.choose(make_arrival(HOME, "de")) == "de"
    assert await languages.get_for_chat(HOME.owner) == "en"
