"""Under which subject a fact belongs, and to whom, where a model files it wrongly or does not say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory.messages import Role
from memory.text.naming import name_key, telling_words
from memory.text.sounds import sounds_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memory.evidence.weighing import Weighed
    from memory.messages import Message


def with_fitting_subjects(
    facts: Sequence[Weighed], known: Mapping[str, str], messages: Sequence[Message]
) -> list[Weighed]:
    """`facts`, each under the known subject that it is about by the user's own words.

    Small models file a change under the first subject they know. Where an uncited fact shares no stated word with what
    is known of its subject, but does with what is known of just one other, that one is meant. known: texts by subject.
    """
    said = set(telling_words(" ".join(m.content for m in messages if m.role is Role.USER), 100_000))
    fitting = []
    for weighed in facts:
        fact = weighed.fact
        words = said.intersection(telling_words(fact.text, 200))
        sharing = [subject for subject, text in known.items() if words.intersection(telling_words(text, 200))]
        claimed = name_key(fact.subject)
        misfiled = fact.citation is None and claimed in known and claimed not in sharing and len(sharing) == 1
        fitting.append(replace(weighed, fact=replace(fact, subject=sharing[0])) if misfiled else weighed)
    return fitting


def with_persons(facts: Sequence[Weighed], speakers: Collection[str]) -> list[Weighed]:
    """`facts`, each with whom it is about where several people speak: whom it names, or else who said it.

    speakers: none in a private chat, where all is about the user.
    """
    return [replace(one, fact=replace(one.fact, person=_person_of(one, speakers))) for one in facts]


def _person_of(weighed: Weighed, speakers: Collection[str]) -> str | None:
    fact = weighed.fact
    if not speakers or fact.person is not None:
        return fact.person if speakers else None
    head = " ".join(fact.text.split()[:3])
    named = next((speaker for speaker in speakers if sounds_in(speaker, head)), None)
    return named or (weighed.message.speaker if weighed.message is not None else None)
