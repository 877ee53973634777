"""Words for tests about tools: the model calls them for the person at the console."""

from __future__ import annotations

import re

from memory.messages import Provenance
from memory.store.entry import Entry
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.talk import Store

OWNER = "console:local"
CITING = re.compile("note_|memory_(?:learn|episode|procedure|file)|reminder_(?:set|cancel)")
"""The tools that cite what the user typed."""


async def call_tools(
    person: Person,
    model: ModelServer,
    *calls: tuple[str, object],
    provenance: Provenance = Provenance.TYPED,
    say: str = "Please do it",
    quote: str | None = None,
) -> list[str]:
    """Call tools one after the other in a single turn, and return their results.

    Calls that write cite `quote`. None cites the user's last message, and "" cites nothing.
    """
    before = len(model.requests)
    given = calls if quote is None else tuple(_add_quote(call, quote) for call in calls)
    model.script(*(Calls((call,)) for call in given), Says("Done."))
    assert (await person.says(say, provenance)).startswith("Done.")
    assert model.refused == []
    return [str(request.last) for request in model.requests[before + 1 :]]


def _add_quote(call: tuple[str, object], quote: str) -> tuple[str, object]:
    name, arguments = call
    if CITING.match(name) is None or not isinstance(arguments, dict):
        return call
    return name, {"quote": quote, **arguments}


async def read_entries(store: Store) -> dict[str, Entry]:
    return {entry.name: entry for entry in await store.entries.list(OWNER)}
