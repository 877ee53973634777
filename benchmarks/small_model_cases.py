"""Six scripted conversations with questions, and human-readable rules for the answers."""

from __future__ import annotations

import json
from dataclasses import dataclass

NOT_KNOWN = (
    "don't know",
    "do not know",
    "don't have",
    "do not have",
    "not know",
    "no information",
    "not mentioned",
    "haven't told",
    "not told",
    "haven't mentioned",
    "not sure",
    "no record",
    "weiß ich nicht",
    "weiß nicht",
    "weiß es nicht",
    "keine information",
    "nicht bekannt",
    "noch nicht",
    "don't remember",
    "do not remember",
    "don't recall",
    "unknown",
    "didn't tell",
    "not been told",
)
"""Phrases for not knowing something."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message after the conversation. Its rules ignore case.

    Args:
        wants: groups of words. The answer must contain one word of each group.
        never: words that the answer must not contain.
        at_most: maximum number of characters of the answer.
    """

    kind: str
    asked: str
    wants: tuple[tuple[str, ...], ...] = ()
    never: tuple[str, ...] = ()
    at_most: int = 600


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages with answers, the result of their consolidation, and questions for the next conversation."""

    name: str
    exchanges: tuple[tuple[str, str], ...]
    learned: tuple[tuple[str, str], ...]
    history: str
    questions: tuple[Question, ...]

    @property
    def consolidation(self) -> str:
        """Return the scripted answer of the consolidation."""
        facts = [{"subject": subject, "fact": fact, "kind": "fact"} for subject, fact in self.learned]
        return json.dumps({"history_entry": self.history, "memory_update": None, "facts": facts})


CONVERSATIONS = (
    Conversation(
        "bees",
        (
            (
                "Hi! My name is Olena and I keep bees in Poltava.",
                "Nice to meet you, Olena! How many hives do you have?",
            ),
            ("Twelve hives at the moment.", "Twelve hives is a good size for a hobby."),
            ("I'm allergic to peanuts, by the way.", "Thank you for telling me. I'll keep that in mind."),
            ("My sister Oksana helps me with the honey every August.", "That's lovely, family help is the best."),
        ),
        (
            ("name", "The user's name is Olena."),
            ("bees", "The user keeps bees in Poltava."),
            ("hives", "The user has twelve hives."),
            ("allergy", "The user is allergic to peanuts."),
            ("sister", "The user's sister is called Oksana and helps with the honey every August."),
        ),
        "Olena told about her twelve hives in Poltava, her peanut allergy and her sister Oksana.",
        (
            Question("recall", "What is my name?", (("olena",),), ("my name",)),
            Question("recall", "How many hives do I have?", (("twelve", "12"),)),
            Question("recall", "Who helps me with the honey?", (("oksana",),)),
            Question(
                "inference",
                "Can I eat a Snickers bar?",
                (("no", "not", "cannot", "shouldn't", "avoid"),),
                ("yes, you can", "sure, you can"),
            ),
            Question("nothing known", "What is my husband's name?", (NOT_KNOWN,), ("oksana", "my husband")),
            Question("small talk", "Thanks, good night!", (), ("peanut", "hive", "# "), 200),
        ),
    ),
    Conversation(
        "changes",
        (
            ("I live in Rome and work as a nurse.", "Rome is beautiful, and nursing is important work."),
            ("My car is a red Fiat.", "A classic choice!"),
            ("I moved from Rome to Milan last week.", "I hope you settle in well in Milan."),
            ("I no longer work as a nurse, I became a teacher.", "Congratulations on the new job!"),
            ("I sold the Fiat and bought a blue bicycle.", "A bicycle is a good choice in Milan."),
        ),
        (
            ("home city", "The user lives in Milan since last week; before that in Rome."),
            ("job", "The user works as a teacher."),
            ("vehicle", "The user has a blue bicycle and sold the Fiat."),
        ),
        "The user moved from Rome to Milan, became a teacher and swapped the Fiat for a blue bicycle.",
        (
            Question("after a change", "Where do I live?", (("milan",),)),
            Question("after a change", "What is my job?", (("teach",),), ("you are a nurse", "work as a nurse")),
            Question("after a change", "Do I still have a car?", (("no", "sold", "bicycle"),), ("yes, you",)),
            Question("after a change", "What colour is my bicycle?", (("blue",),), ("red",)),
            Question("nothing known", "How old am I?", (NOT_KNOWN,)),
        ),
    ),
    Conversation(
        "project",
        (
            ("Our project Kolibri uses PostgreSQL 16 on port 5433.", "Noted: PostgreSQL 16, port 5433."),
            ("We deploy only on Tuesdays.", "Good, a fixed day avoids surprises."),
            ("The staging server is called heron.", "I'll remember heron as staging."),
            ("Ann does the code reviews.", "Then Ann is the one to ask."),
        ),
        (
            ("database", "The project Kolibri uses PostgreSQL 16 on port 5433."),
            ("deployment", "The project is deployed only on Tuesdays."),
            ("staging server", "The staging server is called heron."),
            ("code review", "Ann does the code reviews."),
        ),
        "They went through the set-up of the project Kolibri.",
        (
            Question("recall", "Which port does our database use?", (("5433",),), ("5432",)),
            Question("recall", "What is the staging server called?", (("heron",),)),
            Question("recall", "Who reviews our code?", (("ann",),)),
            Question(
                "inference",
                "Today is Friday. Should we deploy Kolibri today?",
                (("no", "tuesday"),),
                ("yes,", "go ahead"),
            ),
            Question(
                "general",
                "What does the SQL keyword DISTINCT do?",
                (("duplicate", "unique", "distinct"),),
                ("heron", "# memory"),
            ),
        ),
    ),
    Conversation(
        "trip",
        (
            ("We fly to Lisbon on 12 March at 9:40.", "That sounds like a great trip."),
            ("Our hotel is the Casa Azul.", "A charming name."),
            ("My wife Ines and I are both vegetarians.", "Lisbon has good vegetarian places."),
            ("Our budget for the trip is 1200 euros.", "That should be enough for a week."),
        ),
        (
            ("flight", "The user flies to Lisbon on 12 March at 9:40."),
            ("hotel", "The user's hotel in Lisbon is the Casa Azul."),
            ("diet", "The user and his wife Ines are vegetarians."),
            ("budget", "The budget of the trip is 1200 euros."),
        ),
        "The user told about a trip to Lisbon with his wife Ines.",
        (
            Question("recall", "When does our flight leave?", (("9:40", "12 march", "march 12"),)),
            Question("recall", "What is the name of our hotel?", (("casa azul",),)),
            Question(
                "inference",
                "Would a steak house be a good choice for our dinner?",
                (("vegetarian", "no"),),
                ("yes, a", "yes! a"),
            ),
            Question("recall", "What is my wife called?", (("ines",),), ("my wife",)),
            Question("small talk", "Hello, how are you?", (), ("1200", "casa azul", "# "), 300),
        ),
    ),
    Conversation(
        "rules",
        (
            ("Always answer in one short sentence.", "Understood."),
            ("Please always call me Captain.", "Aye, Captain."),
            ("I prefer tea over coffee.", "Tea it is, Captain."),
        ),
        (("name", "The user wants to be called Captain."), ("drinks", "The user prefers tea over coffee.")),
        "The user wished for short answers and to be called Captain.",
        (
            Question("instruction", "What is the capital of France?", (("paris",),), ("\n-",), 140),
            Question("instruction", "Why is the sky blue?", (("scatter", "light", "blue"),), ("\n-", "\n1."), 260),
            Question("instruction", "Hello, who am I?", (("captain",),)),
            Question("recall", "Do I like tea or coffee better?", (("tea",),)),
            Question("small talk", "Thank you!", (), ("tea", "coffee", "# "), 160),
        ),
    ),
    Conversation(
        "german",
        (
            ("Ich heiße Jonas und wohne in Köln.", "Hallo Jonas, schön dich kennenzulernen!"),
            ("Meine Katze heißt Minka und ist neun Jahre alt.", "Minka ist ein schöner Name."),
            ("Ich bin laktoseintolerant.", "Danke, das merke ich mir."),
        ),
        (
            ("Name", "Der Nutzer heißt Jonas."),
            ("Wohnort", "Der Nutzer wohnt in Köln."),
            ("Katze", "Die Katze des Nutzers heißt Minka und ist neun Jahre alt."),
            ("Unverträglichkeit", "Der Nutzer ist laktoseintolerant."),
        ),
        "Jonas aus Köln erzählte von seiner Katze Minka und seiner Laktoseintoleranz.",
        (
            Question("recall", "Wie heißt meine Katze?", (("minka",),)),
            Question("recall", "Wo wohne ich?", (("köln",),)),
            Question(
                "inference",
                "Kann ich ein Glas Kuhmilch trinken?",
                (("nein", "nicht", "kein", "laktosefrei"),),
                ("ja, du kannst",),
            ),
            Question(
                "nothing known", "Wie heißt mein Bruder?", (NOT_KNOWN,), ("dein bruder heißt", "mein bruder", "minka")
            ),
        ),
    ),
)
