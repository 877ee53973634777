"""Under which subject a fact belongs, where a model files it wrongly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory.messages import Role
from memory.text.naming import name_key, telling_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
