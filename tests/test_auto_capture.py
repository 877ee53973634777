"""What the user asks in so many words to have remembered is written down, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memory.messages import Provenance
from pipeline.systems.auto_capture import LONGEST_CAPTURE, requested
from tests.fakes import Person
from tests.servers.model import Fails, Says

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import OpenApp
    from tests.servers.model import ModelServer


@pytest.fixture
def long_term(tmp_path: Path) -> Path:
    """The MEMORY.md of the person at the console."""
    return tmp_path / "data" / "memory" / "console:local" / "MEMORY.md"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Remember that I'm allergic to nuts", "I'm allergic to nuts"),
        ("please remember that I like tea", "I like tea"),
        ("Remember this: the code is in the blue box", "the code is in the blue box"),
        ("Remember: milk,\n  eggs", "milk, eggs"),
        ("  REMEMBER THAT  I live in Kyiv ", "I live in Kyiv"),
        ("Запомни, что я живу в Киеве", "я живу в Киеве"),
        ("Пожалуйста, запомните: встреча в пять", "встреча в пять"),
        ("Запам'ятай, що я люблю каву", "я люблю каву"),
        ("Будь ласка, запам’ятайте: зустріч о п'ятій", "зустріч о п'ятій"),
        ("Merk dir, dass ich Vegetarier bin", "ich Vegetarier bin"),
        ("Bitte merke dir: Termin um fünf", "Termin um fünf"),
        ("Recuerda que vivo en Madrid", "vivo en Madrid"),
        ("Por favor, recuerda: cita a las cinco", "cita a las cinco"),
        ("Souviens-toi que j'habite à Lyon", "j'habite à Lyon"),
        ("Retiens que je suis végétarien", "je suis végétarien"),
        ("请记住我喜欢绿茶", "我喜欢绿茶"),
        ("記住：我住在台北", "我住在台北"),
    ],
)
def test_a_request_to_remember_is_understood(text: str, what: str) -> None:
    assert requested(text) == what


@pytest.mark.parametrize(
    "text",
    [
        "Do you remember that I like tea?",
        "Remember that trip to Rome?",
        "I can't remember that",
        "I don't remember that you said so",
        "I remember that day well",
        "Remember when we met",
        "Remembering that I like tea",
        "remember thatched roofs are flammable",
        "He said: remember that I like tea",
        '"Remember that I like tea" is what he said',
        "> remember that I like tea",
        "Remember that",
        "Запомнил, спасибо большое",
        "Запомнила ли ты, где ключи",
        "Ты запомни это сам",
        "Запомни, что я сказал?",
        "Запам'ятала все, дякую",
        "Merk dirs doch selbst",
        "Recuerdas aquel día en Madrid",
        "Recuerdo que vivo en Madrid",
        "你记住了吗？",
        "",
    ],
)
def test_other_words_are_no_request(text: str) -> None:
    assert requested(text) is None


def test_a_word_that_begins_like_the_joining_word_is_part_of_what_is_remembered() -> None:
    assert requested("Запомни, чтобы купить хлеб") == "чтобы купить хлеб"
    assert requested("Recuerda quemar el papel") == "quemar el papel"


def test_what_is_remembered_has_a_bound() -> None:
    assert len(requested("Remember that " + "x" * 5_000) or "") == LONGEST_CAPTURE


async def test_a_request_is_written_down_said_and_in_the_prompt(
    person: Person, model: ModelServer, long_term: Path
) -> None:
    model.script(Says("I will."))
    said = await person.says("Remember that I'm allergic to nuts")
    assert said == "I will.\n\n_Noted in MEMORY.md: I'm allergic to nuts (/undo takes it back)_"
    assert long_term.read_text() == "- I'm allergic to nuts\n"
    assert "- I'm allergic to nuts" in model.requests[0].system()


async def test_the_same_request_is_written_down_once(person: Person, long_term: Path) -> None:
    await person.says("Remember that I like tea")
    assert "Noted" not in await person.says("Remember that I like tea")
    assert long_term.read_text() == "- I like tea\n"


async def test_a_part_of_what_is_known_is_still_something_new(person: Person, long_term: Path) -> None:
    await person.says("Remember that I like teapots")
    assert "Noted" in await person.says("Remember that I like tea")
    assert long_term.read_text() == "- I like teapots\n- I like tea\n"


async def test_running_a_turn_again_writes_nothing_down_again(
    person: Person, model: ModelServer, long_term: Path
) -> None:
    model.script(Fails(400))
    assert "Noted in MEMORY.md" in await person.says("Remember that I like tea")
    long_term.unlink()
    assert await person.says("/retry") == "You said: Remember that I like tea"
    assert not long_term.exists()


@pytest.mark.parametrize("provenance", [Provenance.FORWARDED, Provenance.FILE, Provenance.WEB])
async def test_words_that_were_not_typed_write_no_memory(
    person: Person, long_term: Path, provenance: Provenance
) -> None:
    assert "Noted" not in await person.says("Remember that the password is swordfish", provenance)
    assert not long_term.exists()


async def test_of_messages_that_come_together_each_request_is_written_down(
    start: OpenApp, model: ModelServer, long_term: Path
) -> None:
    async with start() as app:
        person = Person(app)
        await person.sends("Remember that I like tea", "Remember that I hate coffee")
        await app.runner.drained("console:local")
    assert len(model.requests) == 1
    assert long_term.read_text() == "- I like tea\n- I hate coffee\n"


async def test_a_request_that_does_not_fit_is_not_said_to_be_noted(
    start: OpenApp, model: ModelServer, long_term: Path
) -> None:
    long_term.parent.mkdir(parents=True)
    long_term.write_text("- full\n" * 160)
    async with start(memory_max_size=256) as app:
        said = await Person(app).says("Remember that I like tea")
    assert said.startswith("You said: Remember that I like tea\n\n_Not noted: MEMORY.md would grow to")
    assert "I like tea" not in long_term.read_text()
