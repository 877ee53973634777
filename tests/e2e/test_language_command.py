"""Tests of /language, by name or button."""

from __future__ import annotations

import pytest

from bot.commands.settings import find_language_code
from config.texts import LANGUAGES
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.serving import ANN, GROUP, Serve, list_labels, list_texts, press

BOB = 4004
OWN_NAMES = list(LANGUAGES.values())


def find_announced_language(telegram: BotApiServer) -> str:
    """Return the language in bold in the newest message."""
    message = telegram.list_sent(ANN)[-1]
    (bold,) = [entity for entity in message.entities if entity.type == "bold"]
    return message.text[bold.offset : bold.offset + bold.length]


async def test_language_command_lists_own_names_and_marks_the_current(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("/language", chat_id=ANN, language_code="de")
        await telegram.wait_for(lambda: list_texts(telegram))
        assert find_announced_language(telegram) == "Deutsch"
        assert list_labels(telegram)[: len(LANGUAGES)] == OWN_NAMES
        assert list_labels(telegram)[len(LANGUAGES)].startswith("✓ ")  # The default of the program.


async def test_language_button_edits_its_message_and_can_reset(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("/language", chat_id=ANN, language_code="fr")
        await telegram.wait_for(lambda: "Français" in list_labels(telegram))
        press(telegram, "Українська")
        await telegram.wait_for(lambda: "✓ Українська" in list_labels(telegram))
        assert len(telegram.list_sent(ANN)) == 1
        assert await app.runner.languages.get_for_chat(f"telegram:{ANN}") == "uk"
        telegram.user_says("/language auto", chat_id=ANN, language_code="fr")
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        assert find_announced_language(telegram) == "Français"
        assert await app.runner.languages.get_for_chat(f"telegram:{ANN}") == "fr"


async def test_chosen_language_survives_a_restart_and_other_client_languages(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve():
        telegram.user_says("/language español", chat_id=ANN)
        await telegram.wait_for(lambda: list_texts(telegram))
    async with serve():
        telegram.user_says("/language", chat_id=ANN, language_code="ru")
        await telegram.wait_for(lambda: len(list_texts(telegram)) == 2)
        assert find_announced_language(telegram) == "Español"


async def test_group_language_is_set_by_managers_only(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        telegram.user_says("/language de", chat_id=GROUP, user_id=BOB, chat_type="supergroup")
        await telegram.wait_for(lambda: list_texts(telegram, GROUP))
        assert "only administrators" in list_texts(telegram, GROUP)[0]
        telegram.user_says("/language de", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await telegram.wait_for(lambda: len(list_texts(telegram, GROUP)) == 2)
        assert await app.runner.languages.get_for_chat(f"telegram:{GROUP}") == "de"


async def test_unknown_language_is_answered_with_the_known_ones(person: Person) -> None:
    answer = await person.says("/language Klingon")
    assert answer == f"I don't speak Klingon: choose one of {', '.join(OWN_NAMES)}."


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("de", "de"),
        ("DEUTSCH", "de"),
        ("German", "de"),
        ("немецкий", "de"),
        ("zh-Hans", "zh"),
        ("chinois", "zh"),
        ("українська", "uk"),
        ("Klingon", None),
        ("", None),
    ],
)
def test_language_is_found_by_code_and_common_names(name: str, code: str | None) -> None:
    assert find_language_code(name) == code
