"""Test of memories over a year."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from bot.kernel import App
from memory.ledger.entries import EntryStore
from memory.store.decay import Decay
from memory.store.entry import Kind, Nature, NewEntry
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_weekly_schedule, needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.talk import create_ledger

OWNER = "console:local"
RULE, USED, UNUSED = "Answer in one sentence", "The gate code of the garden is a prime", "The old bicycle was red"
WEEKS = 45


async def read_archive_times(app: App) -> dict[str, str | None]:
    rows = await app.database.rows("SELECT content, archived_at FROM entries WHERE kind IN ('policy', 'fact')")
    return {row["content"]: row["archived_at"] for row in rows}


@needs_feature("tidying")
@pytest.mark.slow
async def test_used_memory_stays_and_unused_one_is_archived_but_answers(
    start: OpenApp, model: ModelServer, clock: FakeClock
) -> None:
    model.otherwise = lambda _: Says("Fine.")
    began, decay = clock(), Decay()
    seen: dict[str, list[bool]] = {RULE: [], USED: [], UNUSED: []}
    told: list[tuple[datetime, str]] = []
    async with start() as app:
        entries, person = EntryStore(app.database, create_ledger(app.database, clock)), Person(app)
        for kind, content, name in ((Kind.POLICY, RULE, "rule"), (Kind.FACT, USED, "used"), (Kind.FACT, UNUSED, "old")):
            nature = Nature.EVENT if content == UNUSED else Nature.STATE
            await entries.add(OWNER, NewEntry(content, name=name, kind=kind, nature=nature))
        await find_weekly_schedule(app).run_if_due()
        for week in range(WEEKS):
            clock.forward(days=7)
            assert await find_weekly_schedule(app).run_if_due()
            if week % 6 == 0:
                model.script(Calls((("memory_recall", {"query": "gate code"}),)), Says(f"{USED}."))
            await person.says("/new")
            said = await person.says(f"What about a walk in week {week}?")
            if "archived" in said:
                told.append((clock(), said))
            for content, weeks in seen.items():
                weeks.append(content in model.requests[-1].prompt)
            score = decay.score("fact", 1, began, clock())
            assert ((await read_archive_times(app))[UNUSED] is not None) == (score < decay.archive_below)
            assert seen[UNUSED][-1] == (score >= decay.threshold)
        assert seen[RULE] == seen[USED] == [True] * WEEKS
        assert [at for at, _ in told] == [began + timedelta(weeks=43)]  # 299 days are 42.7 weeks.
        assert told[0][1] == (
            f'{USED}.\n\n_Memory tidied; archived as faded: "{UNUSED}". Nothing was deleted (/undo takes it back)._'
        )
        assert UNUSED in await person.says("/recall bicycle")
        assert (await read_archive_times(app))[RULE] is None
    clock.forward(days=3650)
    async with start() as app:
        assert await find_weekly_schedule(app).run_if_due()
        await Person(app).says("Hello again")
        assert RULE in model.requests[-1].messages[0]["content"]
        assert USED not in model.requests[-1].prompt
        assert USED in await Person(app).says("/recall gate code")
        assert (await read_archive_times(app))[USED] is None, "a state that holds is never archived"
