"""/language: a chat is spoken to in the language that it asks for, by name or by button."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.commands.settings import find_language_code
from config.texts import LANGUAGES
from tests.support.serving import ANN, GROUP, labels, press, texts

if TYPE_CHECKING:
    from tests.support.fakes import Person
    from tests.support.servers.telegram import BotApiServer
    from tests.support.serving import Serve

BOB = 4004
OWN_NAMES = list(LANGUAGES.values())


def told(telegram: BotApiServer) -> str:
    """The language that the newest message says is spoken, whatever language it is in."""
    message = telegram.sent(ANN)[-1]
    (bold,) = [entity for entity in message.entities if entity.type == "bold"]
    return message.text[bold.offset : bold.offset + bold.length]


async def test_language_shows_the_languages_by_their_own_names_with_the_present_one_marked(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve():
        telegram.user_says("/language", chat_id=ANN, language_code="de")
        await telegram.wait_for(lambda: texts(telegram))
        assert told(telegram) == "Deutsch"
        assert labels(telegram)[: len(LANGUAGES)] == OWN_NAMES
        assert labels(telegram)[len(LANGUAGES)].startswith("✓ ")  # as the program is set


async def test_a_press_changes_the_language_in_place_and_the_way_back_is_the_programs_own(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve() as app:
        telegram.user_says("/language", chat_id=ANN, language_code="fr")
        await telegram.wait_for(lambda: "Français" in labels(telegram))
        press(telegram, "Українська")
        await telegram.wait_for(lambda: "✓ Українська" in labels(telegram))
        assert len(telegram.sent(ANN)) == 1
        assert await app.runner.languages.of_chat(f"telegram:{ANN}") == "uk"
        telegram.user_says("/language auto", chat_id=ANN, language_code="fr")
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 2)
        assert told(telegram) == "Français"
        assert await app.runner.languages.of_chat(f"telegram:{ANN}") == "fr"


async def test_what_was_chosen_holds_after_a_restart_whatever_the_program_is_set_to(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve():
        telegram.user_says("/language español", chat_id=ANN)
        await telegram.wait_for(lambda: texts(telegram))
    async with serve():
        telegram.user_says("/language", chat_id=ANN, language_code="ru")
        await telegram.wait_for(lambda: len(texts(telegram)) == 2)
        assert told(telegram) == "Español"


async def test_in_a_group_the_language_is_for_who_looks_after_it(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        telegram.user_says("/language de", chat_id=GROUP, user_id=BOB, chat_type="supergroup")
        await telegram.wait_for(lambda: texts(telegram, GROUP))
        assert "for its administrators" in texts(telegram, GROUP)[0]
        telegram.user_says("/language de", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await telegram.wait_for(lambda: len(texts(telegram, GROUP)) == 2)
        assert await app.runner.languages.of_chat(f"telegram:{GROUP}") == "de"


async def test_a_language_that_is_not_spoken_is_said_with_those_that_are(person: Person) -> None:
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
def test_a_language_is_known_by_its_code_and_by_what_people_call_it(name: str, code: str | None) -> None:
    assert find_language_code(name) == code
