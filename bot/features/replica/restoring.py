"""Restores a replica, which this machine takes over."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timedelta
from pathlib import Path

from bot.features.replica.replica import Lease, Replica
from memory.clock import Clock
from memory.errors import StoreError
from memory.store.schema import explain_unreadable
from memory.store.snapshots import read_file_copies, read_format, require_sound
from memory.transfer.archive import DATABASE, FOLDERS, stays_inside
from memory.transfer.restore import BroughtData, Restore

MAX_WRITE_GAP = timedelta(minutes=15)
"""A machine with a newer write counts as running, since a running bot writes every few minutes."""


class ReplicaSource:
    def __init__(self, replica: Replica, clock: Clock) -> None:
        self._replica = replica
        self._clock = clock

    def restore(self, target: Restore, *, replace: bool, is_copy: bool) -> BroughtData:
        """Restore the newest database of the replica, and take the lease unless it is a copy.

        Raises StoreError, also if there is data here or the holder of the replica is running, unless `replace` is set.
        """
        replica = self._replica
        lease = asyncio.run(replica.read_lease())
        if lease is None:
            raise StoreError(f"There is no replica at {replica.place.url}: give the former REPLICA_URL.")
        last_write = asyncio.run(replica.find_newest_write(lease.number))
        is_alive = last_write is not None and self._clock() - last_write < MAX_WRITE_GAP
        if last_write is not None and is_alive and not is_copy and not replace:
            raise StoreError(
                f"{lease.machine} holds that replica and wrote to it at {last_write:%H:%M:%S} UTC: stop the bot there,"
                " or add --yes to take over all the same."
            )

        number = lease.number

        def fetch(stage: Path) -> None:
            nonlocal number
            number = asyncio.run(replica.fetch_newest(lease, stage / DATABASE))
            require_sound(stage / DATABASE)
            if (reason := explain_unreadable("The replica", read_format(stage / DATABASE))) is not None:
                raise StoreError(reason)
            for name, content, changed in read_file_copies(stage / DATABASE):
                if stays_inside(name) and name.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
                    _write(stage / name, content, changed)

        def take_over() -> None:
            if not is_copy:
                asyncio.run(replica.take(lease))

        kept = target.replace(fetch, replace=replace, finish=take_over)
        newest_write = last_write if number == lease.number else asyncio.run(replica.find_newest_write(number))
        note = "The other machine keeps the replica: to take it over, restore without --into." if is_copy else ""
        return BroughtData(kept, f"{_describe(lease, number, newest_write)} was restored", note)


def _describe(holder: Lease, number: int, newest_write: datetime | None) -> str:
    until = f" until {newest_write:%Y-%m-%d %H:%M:%S} UTC" if newest_write is not None else ""
    if number == holder.number:
        return f"The data of the replica{until} (its folder {number})"
    return (
        f"The data of the replica{until} (its folder {number}; {holder.machine}, which took over at"
        f" {holder.at}, has not written anything)"
    )


def _write(path: Path, content: bytes, changed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600, exist_ok=False)
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.utime(path, ns=(changed, changed))
