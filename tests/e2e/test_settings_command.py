"""Tests of /settings: one message with the values of a chat and buttons to change them."""

from __future__ import annotations

from functools import partial

from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.serving import ANN, GROUP, Serve, list_labels, list_texts, press


def shows(telegram: BotApiServer, label: str) -> bool:
    return label in list_labels(telegram)


async def test_settings_shows_values_and_the_commands_that_change_them(person: Person) -> None:
    await person.says("/timezone kyiv")
    await person.says("/notices quiet")
    shown = await person.says("/settings")
    for line in (
        "- Language: **English**, the same as in your app. /language",
        "- Time zone: **Europe/Kyiv**, where it is Saturday, 7 February 2026, 14:15. /timezone",
        "- Notices: **Quiet**. /notices",
        "- Model: **scripted**. /model",
        "- This conversation is saved. /private",
    ):
        assert line in shown.splitlines()


async def test_settings_button_opens_its_command_and_leads_back(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("/settings", chat_id=ANN)
        await telegram.wait_for(lambda: "Language" in list_labels(telegram))
        for button, inside in (
            ("Language", "Deutsch"),
            ("Time zone", "All settings"),
            ("Notices", "Quiet"),
            ("Model", "All settings"),
        ):
            press(telegram, button)
            await telegram.wait_for(partial(shows, telegram, inside))
            press(telegram, "All settings")
            await telegram.wait_for(lambda: "Language" in list_labels(telegram))
        press(telegram, "Notices")
        await telegram.wait_for(lambda: "Off" in list_labels(telegram))
        press(telegram, "Off")
        await telegram.wait_for(lambda: "✓ Off" in list_labels(telegram))
        press(telegram, "All settings")
        await telegram.wait_for(lambda: "Notices: Off." in list_texts(telegram)[0])
        assert len(list_texts(telegram)) == 1
        assert app.runner.commands["settings"].listed


async def test_settings_begins_and_shows_a_private_talk(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("/settings", chat_id=ANN)
        await telegram.wait_for(lambda: "Start a private conversation" in list_labels(telegram))
        press(telegram, "Start a private conversation")
        await telegram.wait_for(lambda: "All settings" in list_labels(telegram))
        press(telegram, "All settings")
        await telegram.wait_for(lambda: "This conversation is private. /private" in list_texts(telegram)[0])
        assert "Start a private conversation" not in list_labels(telegram)


async def test_group_settings_are_changed_by_managers_only(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says("/settings", chat_id=GROUP, user_id=4004, chat_type="supergroup")
        await telegram.wait_for(lambda: list_texts(telegram, GROUP))
        assert "only administrators" in list_texts(telegram, GROUP)[0]
