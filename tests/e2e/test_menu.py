"""Tests of the bot's menu and description in Telegram, in each language."""

from __future__ import annotations

from functools import partial

import pytest

from bot.commands.command import Access
from bot.kernel import App
from bot.telegram.menu import DESCRIPTION, MAX_DESCRIPTION_CHARS, SHORT_DESCRIPTION
from config.texts import LANGUAGES, _, use_language
from tests.support.bot_api.server import BotApiServer
from tests.support.serving import Serve

PRIVATE, GROUPS, ADMINISTRATORS = "all_private_chats", "all_group_chats", "all_chat_administrators"
TOLD = ("setMyCommands", "setMyDescription", "setMyShortDescription")


def count_calls(telegram: BotApiServer) -> int:
    """Return the number of calls that set menus or descriptions."""
    return sum(len(telegram.list_calls(method)) for method in TOLD)


def _has_started(telegram: BotApiServer, starts: int) -> bool:
    return len(telegram.list_calls("getMyShortDescription")) == starts


async def test_menu_matches_the_command_table_for_each_audience_and_language(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve(menu=True) as app:
        await telegram.wait_for(lambda: "short_description" in telegram.get_about("zh"))
        for language in LANGUAGES:
            code = "" if language == "en" else language
            with use_language(language):
                private = {c.command: c.description for c in telegram.list_commands(PRIVATE, code)}
                assert private == {
                    name: _(c.description)
                    for name, c in app.runner.commands.items()
                    if c.listed and c.access is not Access.OWNER
                }
            groups = [c.command for c in telegram.list_commands(GROUPS, code)]
            administrators = [c.command for c in telegram.list_commands(ADMINISTRATORS, code)]
            assert administrators == [name for name in private if name != "start"]
            assert groups == [n for n in administrators if app.runner.commands[n].access is Access.EVERYBODY]
        assert {"settings", "language"} <= set(administrators) - set(groups)


async def test_unchanged_menu_is_not_sent_again(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(menu=True):
        await telegram.wait_for(lambda: "short_description" in telegram.get_about("zh"))
    before = count_calls(telegram)
    assert before == 5 * len(LANGUAGES)
    async with serve(menu=True):
        await telegram.wait_for(lambda: len(telegram.list_calls("getMyShortDescription")) == 2)
    assert count_calls(telegram) == before
    assert len(telegram.list_calls("getMyCommands")) == 1  # Reads what the server knows.


async def test_menu_button_opens_the_memory_page_if_served(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(menu=True, web_url="https://memory.example.org"):
        await telegram.wait_for(lambda: _has_started(telegram, 1))
    button = {"type": "web_app", "text": "Memory", "web_app": {"url": "https://memory.example.org/page/"}}
    assert telegram.menu_button == button
    async with serve(menu=True):
        await telegram.wait_for(lambda: _has_started(telegram, 2))
    assert telegram.menu_button == {"type": "default"}
    async with serve(menu=True):
        await telegram.wait_for(lambda: _has_started(telegram, 3))
    assert len(telegram.list_calls("setChatMenuButton")) == 2


async def test_changed_or_failed_menu_is_sent_at_the_next_start(serve: Serve, telegram: BotApiServer) -> None:
    telegram.fault("setMyCommands", error_code=400, description="Bad Request: no", times=1)
    async with serve(menu=True) as app:
        await telegram.wait_for(lambda: any(not call.ok for call in telegram.list_calls("setMyCommands")))
        assert telegram.list_commands(PRIVATE) == []
    async with serve(menu=True) as app:
        await telegram.wait_for(lambda: "short_description" in telegram.get_about("zh"))
        await app.database.write("UPDATE published SET fingerprint = 'other' WHERE what LIKE '%/all_group_chats/de'")
    before = count_calls(telegram)
    async with serve(menu=True):
        await telegram.wait_for(lambda: count_calls(telegram) == before + 1)
    assert telegram.list_calls("setMyCommands")[-1].params["language_code"] == "de"


async def test_bot_describes_itself_but_keeps_the_owners_own_text(serve: Serve, telegram: BotApiServer) -> None:
    telegram.about["short_description"] = "Ann's own"
    async with serve(menu=True):
        await telegram.wait_for(lambda: telegram.list_calls("getMyShortDescription"))
    assert telegram.about["description"] == DESCRIPTION
    with use_language("de"):
        assert telegram.get_about("de") == {"description": _(DESCRIPTION)}
    assert telegram.about["short_description"] == "Ann's own"


async def test_later_text_of_the_owner_replaces_ours_in_all_languages(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(menu=True):
        await telegram.wait_for(lambda: "short_description" in telegram.get_about("zh"))
    telegram.about["description"] = "Ann's own"
    for starts in (2, 3):
        async with serve(menu=True):
            await telegram.wait_for(partial(_has_started, telegram, starts))
    assert telegram.about["description"] == "Ann's own"
    assert telegram.get_about("de")["description"] == ""
    assert telegram.get_about("de")["short_description"] != ""
    assert len(telegram.list_calls("setMyDescription")) == 2 * len(LANGUAGES) - 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_translated_texts_fit_telegrams_limits(app: App, language: str) -> None:
    with use_language(language):
        assert len(_(DESCRIPTION)) <= 512
        assert len(_(SHORT_DESCRIPTION)) <= 120
        for command in app.runner.commands.values():
            assert 1 <= len(_(command.description)) <= MAX_DESCRIPTION_CHARS
