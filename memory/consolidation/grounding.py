"""What a model says it learned, held against what the user said: made-up things are not remembered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory.text.naming import name_key, telling_words
from memory.text.overlap import Overlap, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.learning.facts import Fact


def grounded_facts(facts: Sequence[Fact], stated: Sequence[str]) -> list[Fact]:
    """The facts that the user's own statements bear out."""
    said = Overlap(stated)
    # the subject in front of a short fact is the model's own word for it
    return [fact for fact in facts if said.grounds(value_of(fact.text))]


def with_fitting_subjects(facts: Sequence[Fact], known: Mapping[str, str], stated: Sequence[str]) -> list[Fact]:
    """`facts`, each under the known subject that it is about by the user's own words.

    Small models file a change under the first subject they know. Where a fact shares no stated word with what is
    known of its subject, but does with what is known of just one other, that one is meant. known: texts by subject.
    """
    said = set(telling_words(" ".join(stated), 100_000))
    fitting = []
    for fact in facts:
        words = said.intersection(telling_words(fact.text, 200))
        sharing = [subject for subject, text in known.items() if words.intersection(telling_words(text, 200))]
        claimed = name_key(fact.subject)
        misfiled = claimed in known and claimed not in sharing and len(sharing) == 1
        fitting.append(replace(fact, subject=sharing[0]) if misfiled else fact)
    return fitting


def grounded_update(memory: str, update: str, said: Sequence[str]) -> str:
    """`update` without new lines that nothing bears out: neither the long-term memory nor what was `said`."""
    known = {line.strip() for line in memory.splitlines()}
    ground = Overlap([memory, *said])
    kept = [
        line
        for line in update.splitlines()
        if line.strip() in known or line.lstrip().startswith("#") or not line.strip() or ground.grounds(line)
    ]
    return "\n".join(kept)


def keeping_lines(memory: str, update: str) -> str:
    """`update` with the lines of `memory` that it leaves out without saying anything in their place.

    A new line takes the place of the one missing line that it shares most telling words with, and at least half:
    that line was corrected or put in other words. Whatever else is missing was dropped unasked, and stays.
    """
    known = {line.strip() for line in memory.splitlines()}
    said = {line.strip() for line in update.splitlines()}
    missing = [line for line in memory.splitlines() if line.strip() and line.strip() not in said]
    for line in update.splitlines():
        if line.strip() in known or not missing:
            continue
        replaced = max(missing, key=Overlap([line]).share_of)
        if Overlap([line]).covers(replaced):
            missing.remove(replaced)
    return "\n".join([*update.rstrip().splitlines(), *missing]) if missing else update
