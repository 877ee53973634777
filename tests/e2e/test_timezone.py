"""Tests of /timezone: times use the zone of the chat, which is chosen by city, zone or country."""

from __future__ import annotations

from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.settings import find_zones
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_reminders, needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.serving import ANN, GROUP, Serve, list_labels, list_texts, press
from tests.support.tool_use import call_tools


async def wait_for_text(telegram: BotApiServer, text: str, chat_id: int = ANN) -> str:
    """Wait for a message that contains the text and return it."""
    return await telegram.wait_for(lambda: next((one for one in list_texts(telegram, chat_id) if text in one), ""))


async def test_city_sets_the_zone_of_this_chat_only(person: Person) -> None:
    assert "12:15" in await person.says("/timezone")
    answer = await person.says("/timezone kyiv")
    assert "Europe/Kyiv" in answer
    assert "14:15" in answer
    assert "14:15" in await person.says("/timezone")
    assert person.app.memory.zone_of("console:local").key == "Europe/Kyiv"
    assert person.app.memory.zone_of("console:other").key == "UTC"


async def test_zone_survives_a_restart_and_covers_all_topics(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("/timezone Europe/Kyiv", chat_id=ANN)
        await wait_for_text(telegram, "are now in")
    async with serve() as app:
        assert app.memory.zone_of(f"telegram:{ANN}:7").key == "Europe/Kyiv"


async def test_prompt_shows_the_time_in_the_chats_zone(person: Person, model: ModelServer) -> None:
    await person.says("/timezone Tokyo")
    await person.says("What time is it?")
    assert "Saturday 2026-02-07 21:15" in model.requests[-1].added


@needs_feature("reminders")
async def test_reminder_keeps_the_zone_of_its_creation(person: Person, model: ModelServer, clock: FakeClock) -> None:
    await person.says("/timezone kyiv")
    wish = {"text": "tea", "when": "2026-02-08T09:00", "repeat": "daily"}
    (answer,) = await call_tools(person, model, ("reminder_set", wish))
    assert "09:00 (Europe/Kyiv)" in answer
    await person.says("/timezone tokyo")
    (reminder,) = await find_reminders(person.app).reminders.list("console:local")
    assert reminder.rule.zone.key == "Europe/Kyiv"
    assert reminder.next_at is not None
    assert reminder.next_at.hour == 7
    assert "09:00" in await person.says("/reminders")


@needs_feature("reminders")
async def test_first_reminder_explains_how_to_change_the_zone(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    hint = "Times here are in UTC"
    async with serve():
        for number in (1, 2):
            wish = {"text": "tea", "when": f"2026-02-08T1{number}:00"}
            model.script(Calls((("reminder_set", wish),)), Says(f"Set {number}."))
            telegram.user_says("Remind me of tea.", chat_id=ANN)
            await wait_for_text(telegram, f"Set {number}.")
        assert [hint in text for text in list_texts(telegram)] == [True, False]
        press(telegram, "Change time zone")
        await telegram.wait_for(lambda: "All settings" in list_labels(telegram))


@needs_feature("reminders")
async def test_chat_with_a_chosen_zone_gets_no_explanation(person: Person, model: ModelServer) -> None:
    await person.says("/timezone kyiv")
    model.script(Calls((("reminder_set", {"text": "tea", "when": "2026-02-08T11:00"}),)), Says("Set."))
    assert (await person.says("Remind me of tea.")).startswith("Set.\n\n_Set: #")


async def test_daily_note_uses_the_zone_of_the_chat(person: Person, clock: FakeClock) -> None:
    clock.forward(hours=11)  # 23:15 in UTC, 08:15 of the next day in Tokyo.
    await person.says("/timezone tokyo")
    await person.says("Good morning!")
    note = person.app.settings.mneme_data_dir / "memory" / "console:local" / "2026-02-08.md"
    assert note.read_text().startswith("[08:15] User: Good morning!")


async def test_several_zones_of_one_name_are_shown_as_buttons(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("/timezone Deutschland", chat_id=ANN)
        await wait_for_text(telegram, "Which one")
        assert list_labels(telegram)[:2] == ["Europe/Berlin", "Europe/Busingen"]
        press(telegram, "Europe/Berlin")
        await wait_for_text(telegram, "Times here are now in Europe/Berlin")
        assert len(list_texts(telegram)) == 1
        assert app.memory.zone_of(f"telegram:{ANN}").key == "Europe/Berlin"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("Atlantis", "I don't know a place called Atlantis"),
        ("America", "Several time zones have that name"),
        ("99,99", "I don't know a place called 99"),
    ],
)
async def test_unknown_place_is_answered_with_a_hint(person: Person, name: str, answer: str) -> None:
    assert answer in await person.says(f"/timezone {name}")
    assert person.app.memory.zone_of("console:local").key == "UTC"


async def test_group_zone_is_set_by_managers_only(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        telegram.user_says("/timezone", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await wait_for_text(telegram, "It is", GROUP)
        telegram.user_says("/timezone kyiv", chat_id=GROUP, user_id=4004, chat_type="supergroup")
        await wait_for_text(telegram, "only administrators", GROUP)
        assert app.memory.zone_of(f"telegram:{GROUP}").key == "UTC"
        telegram.user_says("/timezone kyiv", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await wait_for_text(telegram, "Times here are now in Europe/Kyiv", GROUP)


@pytest.mark.parametrize(
    ("name", "zones"),
    [
        ("europe/kyiv", ["Europe/Kyiv"]),
        ("Kiev", ["Europe/Kyiv"]),
        ("Киев", ["Europe/Kyiv"]),
        ("Kiew", ["Europe/Kyiv"]),
        ("上海", ["Asia/Shanghai"]),
        ("são paulo", ["America/Sao_Paulo"]),
        ("Sao Paulo", ["America/Sao_Paulo"]),
        ("new_york", ["America/New_York"]),
        ("Lond", ["Europe/London"]),
        ("Poland", ["Europe/Warsaw"]),
        ("utc", ["UTC"]),
        ("EET", []),
        ("nowhere", []),
        ("  ", []),
    ],
)
async def test_zone_is_found_by_common_names(name: str, zones: list[str]) -> None:
    assert find_zones(name) == zones


@given(st.sampled_from(sorted(zone for zone in available_timezones() if zone.count("/") == 1)), st.booleans())
async def test_zone_name_matches_at_most_one_zone_ignoring_case(zone: str, upper: bool) -> None:
    assert len(find_zones(zone.upper() if upper else zone.lower())) <= 1
