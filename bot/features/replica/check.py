"""The check of the replica in `mneme doctor`."""

from __future__ import annotations

from datetime import timedelta

from bot.doctor.finding import (
    DoctorContext,
    Finding,
    create_failed,
    create_failed_from_error,
    create_note,
    create_ok,
    create_warning,
)
from bot.features.replica.replica import create_replica
from bot.features.replica.replication import MAX_AGE
from memory.errors import StoreError

TAKE_OVER = "Run `mneme restore --replica URL` to continue here, or set another REPLICA_URL."
REPLICATE = "Start the bot, which writes it. If it is running, see its log for the reason."


async def check_replica(context: DoctorContext) -> list[Finding]:
    if context.settings.replica_url is None:
        return []
    name, replica = "replica", create_replica(context.settings, context.clock)
    try:
        lease = await replica.read_lease()
        newest = await replica.find_newest_write(lease.number) if lease is not None else None
    except StoreError as error:
        return [create_failed_from_error(name, error)]
    if lease is not None and not replica.holds(lease):
        return [create_failed(name, f"{replica.place.url} is held by {lease.machine} since {lease.at}", TAKE_OVER)]
    if newest is None:
        return [
            create_note(name, f"There is no replica at {replica.place.url} yet; the next start of the bot creates it")
        ]
    age = max(timedelta(), context.clock() - newest)
    text = f"{replica.place.url} is {age.total_seconds() / 60:.0f} minutes old"
    return [create_warning(name, text, REPLICATE)] if age > MAX_AGE else [create_ok(name, text)]
