"""Words for tests about tools: the model calls them for the person at the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.messages import Provenance
from tests.support.servers.model import Calls, Says

if TYPE_CHECKING:
    from memory.store.entry import Entry
    from tests.support.fakes import Person
    from tests.support.servers.model import ModelServer
    from tests.support.talk import Store

OWNER = "console:local"


async def use(
    person: Person,
    model: ModelServer,
    *calls: tuple[str, object],
    provenance: Provenance = Provenance.TYPED,
    say: str = "Please do it",
) -> list[str]:
    """What the tools answer when the model calls them, one after the other, in a turn."""
    before = len(model.requests)
    model.script(*(Calls((call,)) for call in calls), Says("Done."))
    assert (await person.says(say, provenance)).startswith("Done.")
    assert model.refused == []
    return [str(request.last) for request in model.requests[before + 1 :]]


async def entries(store: Store) -> dict[str, Entry]:
    return {entry.name: entry for entry in await store.entries.list(OWNER)}
