"""Checks of what is remembered: full files, rules that may contradict each other, and what has faded."""

from __future__ import annotations

import contextlib

from bot.doctor.finding import DoctorContext, Finding, create_note, create_ok, create_warning
from bot.services import MemoryServices
from memory.errors import StoreError
from memory.store.database import Database
from memory.text.tokens import TokenCounter

LOCK_TIMEOUT_SECONDS = 2.0
SHORTEN_FILE = "Shorten the lines that people added to it, or raise MEMORY_MAX_SIZE."
REMOVE_RULE = "See them with /status in that chat, and remove one."


async def check_memory(context: DoctorContext) -> list[Finding]:
    """Check the memory of each owner. The findings quote no memories."""
    settings = context.settings
    if not settings.memory_enabled:
        return [create_ok("memory", "Memory is off (MEMORY_ENABLED)")]
    if not context.state.is_usable:
        return []
    try:
        return await _examine(context)
    except StoreError:
        return []  # such as a disk that is full, which has a finding of its own


async def _examine(context: DoctorContext) -> list[Finding]:
    settings = context.settings
    async with contextlib.AsyncExitStack() as stack:
        database = await Database.open(context.database, busy_timeout=LOCK_TIMEOUT_SECONDS)
        stack.push_async_callback(database.close)
        services = MemoryServices(settings, database, TokenCounter(), context.clock)
        await services.preferences.load()
        owners = await services.condition.list_owners()
        conditions = {owner: await services.condition.inspect(owner) for owner in owners}
        entries = sum([sum((await services.entries.count_by_kind(owner)).values()) for owner in owners])
    faded = sum(condition.faded for condition in conditions.values())
    archived = sum(condition.archived for condition in conditions.values())
    text = (
        f"{entries:,} entries; {faded:,} have faded and are used only if they fit a message, {archived:,} are archived"
    )
    findings = [create_ok("memory", text)]
    if full := [owner for owner, condition in conditions.items() if condition.is_full]:
        findings.append(create_warning("memory file", f"MEMORY.md of {', '.join(full)} is full", SHORTEN_FILE))
    if doubtful := [owner for owner, condition in conditions.items() if condition.contradicting]:
        findings.append(create_note("rules", f"Some of {', '.join(doubtful)} may contradict each other", REMOVE_RULE))
    return findings
