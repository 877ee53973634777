"""Tests that no secret is captured, and that the user learns why."""

from __future__ import annotations

import pytest

from bot.kernel import App
from tests.support.fakes import Person


async def test_password_in_plain_words_is_not_captured(app: App, person: Person) -> None:
    assert "Not noted: a password." in await person.says(
        "My password: correct horse battery. Remember that my PIN is 4711"
    )
    assert await app.database.value("SELECT count(*) FROM entries") == 0
    assert not list((app.settings.mneme_data_dir / "memory").rglob("MEMORY.md"))


@pytest.mark.parametrize(
    "said", ["The code for the front door is 4711", "Meine Passphrase lautet blauer Elefant tanzt leise"]
)
async def test_user_is_told_that_a_secret_was_not_stored(app: App, person: Person, said: str) -> None:
    answer = await person.says(said)
    assert answer.count("_Not noted: a password. I never store such things._") == 1
    assert "Not noted" not in await person.says(said + ", what does that mean?")
    assert await app.database.value("SELECT count(*) FROM entries") == 0


@pytest.mark.parametrize(
    "said",
    [
        "Remember that my PIN is 4711. Always pay with my card 4111 1111 1111 1111.",
        "Always use my password: hunter2secret and never my card 4111 1111 1111 1111",
        "Remember that my card is 4111 1111 1111 1111 and my password is hunter22",
    ],
)
async def test_several_secrets_are_mentioned_in_one_line(app: App, person: Person, said: str) -> None:
    answer = await person.says(said)
    (line,) = [line for line in answer.splitlines() if "Not noted" in line]
    assert line.count("a password") == line.count("a card number") == 1
    assert line.endswith(". I never store such things._")
    assert await app.database.value("SELECT count(*) FROM entries") == 0
