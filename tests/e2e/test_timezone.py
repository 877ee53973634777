"""/timezone: hours are told and read on the clock of the chat, by the name of a city, a zone or a country."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.settings import find_zones
from tests.support.servers.model import Calls, Says
from tests.support.serving import ANN, GROUP, labels, press, texts
from tests.support.tool_use import use

if TYPE_CHECKING:
    from tests.support.fakes import FakeClock, Person
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.serving import Serve


async def said(telegram: BotApiServer, text: str, chat_id: int = ANN) -> str:
    """The answer with that text in it, once there is one."""
    return await telegram.wait_for(lambda: next((one for one in texts(telegram, chat_id) if text in one), ""))


async def test_a_city_sets_the_clock_of_the_chat_and_of_no_other(person: Person) -> None:
    assert "12:15" in await person.says("/timezone")
    answer = await person.says("/timezone kyiv")
    assert "Europe/Kyiv" in answer
    assert "14:15" in answer
    assert "14:15" in await person.says("/timezone")
    assert person.app.memory.reminders.zone_of("console:local").key == "Europe/Kyiv"
    assert person.app.memory.reminders.zone_of("console:other").key == "UTC"


async def test_the_zone_holds_after_a_restart_and_in_all_topics_of_a_chat(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("/timezone Europe/Kyiv", chat_id=ANN)
        await said(telegram, "are now in")
    async with serve() as app:
        assert app.memory.reminders.zone_of(f"telegram:{ANN}:7").key == "Europe/Kyiv"


async def test_the_prompt_says_the_time_on_the_clock_of_the_chat(person: Person, model: ModelServer) -> None:
    await person.says("/timezone Tokyo")
    await person.says("What time is it?")
    assert "Saturday 2026-02-07 21:15" in model.requests[-1].added


async def test_a_reminder_is_read_on_the_clock_of_its_chat_and_keeps_the_zone_that_it_was_made_in(
    person: Person, model: ModelServer, clock: FakeClock
) -> None:
    await person.says("/timezone kyiv")
    wish = {"text": "tea", "when": "2026-02-08T09:00", "repeat": "daily"}
    (answer,) = await use(person, model, ("reminder_set", wish))
    assert "09:00 (Europe/Kyiv)" in answer
    await person.says("/timezone tokyo")
    (reminder,) = await person.app.memory.reminders.list("console:local")
    assert reminder.rule.zone.key == "Europe/Kyiv"
    assert reminder.next_at is not None
    assert reminder.next_at.hour == 7
    assert "09:00" in await person.says("/reminders")


async def test_the_first_reminder_says_once_how_to_change_the_clock(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    hint = "Times here are in UTC"
    async with serve():
        for number in (1, 2):
            wish = {"text": "tea", "when": f"2026-02-08T1{number}:00"}
            model.script(Calls((("reminder_set", wish),)), Says(f"Set {number}."))
            telegram.user_says("Remind me of tea.", chat_id=ANN)
            await said(telegram, f"Set {number}.")
        assert [hint in text for text in texts(telegram)] == [True, False]
        press(telegram, "Change time zone")
        await telegram.wait_for(lambda: "All settings" in labels(telegram))


async def test_who_has_chosen_a_clock_is_not_told_how_to(person: Person, model: ModelServer) -> None:
    await person.says("/timezone kyiv")
    model.script(Calls((("reminder_set", {"text": "tea", "when": "2026-02-08T11:00"}),)), Says("Set."))
    assert (await person.says("Remind me of tea.")).startswith("Set.\n\n_Set: #")


async def test_what_was_said_is_noted_under_the_day_and_hour_of_the_chat(person: Person, clock: FakeClock) -> None:
    clock.forward(hours=11)  # 23:15 in UTC, 08:15 of the next day in Tokyo
    await person.says("/timezone tokyo")
    await person.says("Good morning!")
    note = person.app.settings.mneme_data_dir / "memory" / "console:local" / "2026-02-08.md"
    assert note.read_text().startswith("[08:15] User: Good morning!")


async def test_several_zones_of_one_name_are_shown_as_buttons(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("/timezone Deutschland", chat_id=ANN)
        await said(telegram, "Which one")
        assert labels(telegram)[:2] == ["Europe/Berlin", "Europe/Busingen"]
        press(telegram, "Europe/Berlin")
        await said(telegram, "Times here are now in Europe/Berlin")
        assert len(texts(telegram)) == 1
        assert app.memory.reminders.zone_of(f"telegram:{ANN}").key == "Europe/Berlin"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("Atlantis", "I know no place called Atlantis"),
        ("America", "many zones"),
        ("99,99", "I know no place called 99"),
    ],
)
async def test_what_names_no_zone_says_what_to_name(person: Person, name: str, answer: str) -> None:
    assert answer in await person.says(f"/timezone {name}")
    assert person.app.memory.reminders.zone_of("console:local").key == "UTC"


async def test_in_a_group_only_who_manages_it_sets_the_zone(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        telegram.user_says("/timezone", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await said(telegram, "It is", GROUP)
        telegram.user_says("/timezone kyiv", chat_id=GROUP, user_id=4004, chat_type="supergroup")
        await said(telegram, "for its administrators", GROUP)
        assert app.memory.reminders.zone_of(f"telegram:{GROUP}").key == "UTC"
        telegram.user_says("/timezone kyiv", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await said(telegram, "Times here are now in Europe/Kyiv", GROUP)


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
async def test_a_zone_is_known_by_what_people_call_it(name: str, zones: list[str]) -> None:
    assert find_zones(name) == zones


@given(st.sampled_from(sorted(zone for zone in available_timezones() if zone.count("/") == 1)), st.booleans())
async def test_a_zone_s_own_name_means_one_zone_at_most_whatever_its_case(zone: str, upper: bool) -> None:
    assert len(find_zones(zone.upper() if upper else zone.lower())) <= 1
