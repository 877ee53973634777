"""Answers of the embedded model on a first day: 36 messages of new users in four languages.

Each language is one conversation through the product, with the real model and an empty memory. An answer is right if it
contains one of the required words and none of the forbidden ones. The prompt was chosen from three wordings by this
benchmark. `python -m benchmarks.first_day --answers` prints every answer.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.small_learning import create_settings
from benchmarks.small_model_cases import NOT_KNOWN
from bot.app import open_app
from config.logs import configure_logging
from tests.support.fakes import Person

UNKNOWN = (
    *NOT_KNOWN,
    "je ne sais pas",
    "je ne connais pas",
    "pas encore",
    "ne sais pas",
    "no lo sé",
    "no sé",
    "no conozco",
    "no tengo información",
    "todavía no",
    "aún no",
    "noch nicht",
)
"""Phrases for not knowing something, in all four languages."""
Case = tuple[str, tuple[str, ...], tuple[str, ...]]
"""A message, words of which the answer must contain one (if any are given), and forbidden words."""
TALKS: dict[str, tuple[Case, ...]] = {
    "en": (
        ("Hi! I'm Tom and I have a cat called Pixel.", ("tom", "pixel", "cat"), ("information about", "don't know")),
        ("What is my cat called?", ("pixel",), ("called tom",)),
        ("What is the capital of France?", ("paris",), ()),
        ("My son Emil plays the violin.", ("emil", "violin", "son"), ("don't know", "paris")),
        ("I had a long day at the hospital and I am tired.", ("rest", "tired", "sorry", "hope", "day"), ("paris",)),
        ("What instrument does Emil play?", ("violin",), ("don't know",)),
        ("What is my sister's name?", UNKNOWN, ("your sister's name is emil", "paris")),
        ("Can you suggest a quick dinner?", (), ("paris", "violin", "don't know")),
        ("Thanks, good night!", ("night", "welcome", "sleep", "rest", "dream"), ("paris", "violin")),
    ),
    "de": (
        ("Hallo! Ich heiße Lena und habe einen Hund namens Bruno.", ("lena", "bruno", "hund"), ("keine information",)),
        ("Wie heißt mein Hund?", ("bruno",), ("heißt lena",)),
        ("Wie viele Beine hat eine Spinne?", ("acht", "8"), ()),
        ("Meine Tochter Ida spielt Geige.", ("ida", "geige", "tochter"), ("weiß nicht", "weiß es nicht", "noch nicht")),
        (
            "Ich bin heute so müde von der Arbeit.",
            ("müde", "ruh", "erhol", "arbeit", "schlaf", "tut mir leid"),
            ("acht",),
        ),
        ("Welches Instrument spielt Ida?", ("geige", "violine"), ("weiß nicht",)),
        ("Wie heißt mein Bruder?", UNKNOWN, ("heißt bruno", "heißt ida")),
        ("Was könnte ich heute Abend kochen?", (), ("geige", "bruno")),
        ("Danke, gute Nacht!", ("nacht", "gern", "schlaf", "bitte", "träum"), ("geige", "acht beine")),
    ),
    "es": (
        ("¡Hola! Soy Marta y tengo un loro que se llama Kiwi.", ("marta", "kiwi", "loro"), ("no tengo información",)),
        ("¿Cómo se llama mi loro?", ("kiwi",), ("llama marta",)),
        ("¿Cuál es la capital de Italia?", ("roma",), ()),
        ("Mi hijo Leo juega al ajedrez.", ("leo", "ajedrez", "hijo"), ("no lo sé", "roma")),
        ("Hoy ha sido un día muy largo y estoy cansada.", ("descans", "cansad", "siento", "espero", "día"), ("roma",)),
        ("¿A qué juega Leo?", ("ajedrez",), ("no lo sé",)),
        ("¿Cómo se llama mi hermana?", UNKNOWN, ("llama kiwi", "llama leo", "roma")),
        ("¿Qué puedo cenar hoy?", (), ("roma", "ajedrez")),
        ("Gracias, buenas noches.", ("noches", "nada", "descans", "sueñ", "placer"), ("roma", "ajedrez")),
    ),
    "fr": (
        ("Bonjour ! Je m'appelle Hugo et j'ai un chat nommé Moka.", ("hugo", "moka", "chat"), ("pas d'information",)),
        ("Comment s'appelle mon chat ?", ("moka",), ("s'appelle hugo",)),
        ("Combien de jours a une semaine ?", ("sept", "7"), ()),
        ("Ma fille Zoé fait de l'escalade.", ("zoé", "escalade", "fille"), ("ne sais pas",)),
        ("Je suis fatigué après cette longue journée.", ("repos", "fatigu", "désolé", "journée", "espère"), ("sept",)),
        ("Quel sport fait Zoé ?", ("escalade",), ("ne sais pas",)),
        ("Comment s'appelle mon frère ?", UNKNOWN, ("s'appelle moka", "s'appelle zoé")),
        ("Que puis-je manger ce soir ?", (), ("escalade", "moka")),
        ("Merci, bonne nuit !", ("nuit", "rien", "plaisir", "rêves", "repos"), ("escalade", "sept jours")),
    ),
}


def is_right(answer: str, wanted: tuple[str, ...], unwanted: tuple[str, ...]) -> bool:
    """Return True if an answer contains a required word and no forbidden one, and is at most 600 characters long."""
    text = " ".join(answer.lower().replace("’", "'").split())
    has_wanted = not wanted or any(word in text for word in wanted)
    return bool(text) and has_wanted and not any(word in text for word in unwanted) and len(text) <= 600


async def main() -> None:
    """Hold the four conversations and print the share of right answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", action="store_true", help="print every answer")
    shows = parser.parse_args().answers
    configure_logging("error", "console")
    console, table = Console(), Table("language", "right", "s an answer", box=None, pad_edge=False)
    total = 0
    for language, cases in TALKS.items():
        started, right = time.monotonic(), 0
        with tempfile.TemporaryDirectory() as folder:
            async with open_app(create_settings(Path(folder))) as app:
                person = Person(app)
                for text, wanted, unwanted in cases:
                    answer = (await person.says(text)).partition("\n\n_")[0]
                    good = is_right(answer, wanted, unwanted)
                    right += good
                    if shows:
                        console.print(f"{'+' if good else '-'} {text}\n    {' '.join(answer.split())}", markup=False)
        total += right
        table.add_row(language, f"{right}/{len(cases)}", f"{(time.monotonic() - started) / len(cases):.1f}")
    table.add_row("all", f"{total}/{sum(map(len, TALKS.values()))}", "")
    console.print(table)


if __name__ == "__main__":
    asyncio.run(main())
