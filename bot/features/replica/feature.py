"""The feature replica."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from bot.commands.figures import Group, format_duration
from bot.doctor.finding import DoctorContext, Finding
from bot.feature import Contributions, Feature
from bot.kernel import App, Kernel
from bot.monitoring import Measurement
from bot.telegram.part import Connection, TelegramPart
from config.settings import Settings
from config.texts import N_, _
from memory.clock import Clock
from memory.log.sessions import Session
from memory.transfer.restore import RestoreSource

if TYPE_CHECKING:
    from bot.features.replica.replication import Replication

_REPLICA_OLD = N_(
    "The replica of my memory is {duration} old (hours, minutes, seconds): if this machine failed now, everything"
    " since then would be lost. Run `mneme doctor` on the machine to see why."
)


async def check(context: DoctorContext) -> list[Finding]:
    from bot.features.replica.check import check_replica

    return await check_replica(context)


class ReplicaFeature(Feature):
    name = "replica"
    checks: ClassVar = {"replica": check}
    replication: Replication

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.replica_url is not None else "REPLICA_URL is not set"

    def create_restore_source(self, settings: Settings, clock: Clock, address: str) -> RestoreSource | None:
        from bot.features.replica.replica import create_replica
        from bot.features.replica.restoring import ReplicaSource

        return ReplicaSource(create_replica(settings, clock, address), clock)

    async def prepare(self, settings: Settings, clock: Clock) -> None:
        """Take the replica if no machine holds it. Without a lease, no database may be created here."""
        from bot.features.replica.replica import create_replica

        await create_replica(settings, clock).claim()

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.replica.replica import create_replica
        from bot.features.replica.replication import Replication

        memory, clock = kernel.memory, kernel.clock
        replica = create_replica(kernel.settings, clock)
        self.replication = Replication(replica, memory.database, memory.copies, memory.jobs, clock)
        # Litestream pauses during erasures. Otherwise its copies would keep the erased text.
        memory.traces.set_scrub_context(self.replication.paused)
        age = Measurement("mneme_replica_age_seconds", "Since it was whole.", self._read_age)
        return Contributions(
            servers=[self._replicate],
            telegram=[self._create_part],
            status=[self._report],
            safeguards=[self.replication],
            measurements=[age],
        )

    def _replicate(self, app: App) -> contextlib.AbstractAsyncContextManager[None]:
        return self.replication.running()

    def _create_part(self, connection: Connection) -> TelegramPart:
        async def tell(age: timedelta) -> None:
            await connection.access.notify_owners(lambda: _(_REPLICA_OLD, duration=age))

        self.replication.tell = tell
        return TelegramPart()

    def _read_age(self) -> float | None:
        age = self.replication.sync_age
        return age.total_seconds() if age is not None else None

    async def _report(self, session: Session) -> Sequence[Group]:
        age = self._read_age()
        rows = ((_("age"), format_duration(int(age))),) if age is not None else ()
        notes = (_("It can't be written at the moment: run `mneme doctor`."),) if self.replication.is_behind else ()
        return [Group(_("Replica"), rows, notes=notes)]
