"""The examination: all checks, in the order in which they are told."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog
from pydantic import SecretStr

from bot.cli.start import DATABASE_NAME
from bot.doctor import installation, models, telegram, tools
from bot.doctor import installation as machine
from bot.doctor.finding import DoctorContext, Finding, failed, failed_as_said, note
from config.errors import ConfigurationError
from config.logs import redact
from config.settings import Settings, load_settings
from memory.clock import system_clock
from memory.store.inspection import inspect_database

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

log = structlog.get_logger(__name__)

REPORT = "Run this again with LOG_LEVEL=debug and report what it says."

SHORTEST_SECRET = 6
"""Characters; what is shorter, such as the `none` of servers without keys, is no secret and may be part of a word."""


@dataclass(frozen=True, slots=True)
class Check:
    """A subject, and what looks at it."""

    subject: str
    look: Callable[[DoctorContext], Awaitable[list[Finding]]]


CHECKS = (
    Check("settings", installation.settings),
    Check("data directory", installation.data_directory),
    Check("database", installation.database),
    Check("last backup", installation.last_backup),
    Check("disk", machine.disk),
    Check("time zone", machine.time_zone),
    Check("token", telegram.telegram),
    Check("model", models.models),
    Check("embedder", models.embeddings),
    Check("LightRAG", models.lightrag),
    Check("tools", tools.tools),
)


async def examine(backups: Path | None = None) -> list[Finding]:
    """Look at everything; the checks wait for the network beside each other. Never raises for what is broken."""
    try:
        settings = load_settings()
    except ConfigurationError as error:
        unseen = [note(check.subject, "Not looked at, since the settings can't be read") for check in CHECKS[1:]]
        return [failed_as_said("settings", error), *unseen, machine.versions()]
    database = settings.mneme_data_dir / DATABASE_NAME
    state = await asyncio.to_thread(inspect_database, database)
    patient = DoctorContext(settings, database, state, system_clock, backups)
    groups = await asyncio.gather(*(_look(check, patient) for check in CHECKS))
    lines = [finding for findings in groups for finding in findings]
    return [*(_without_secrets(finding, settings) for finding in lines), machine.versions()]


def _without_secrets(finding: Finding, settings: Settings) -> Finding:
    """What servers and libraries say may quote what they were sent."""
    text = redact(finding.found)
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr) and len(value.get_secret_value()) >= SHORTEST_SECRET:
            text = text.replace(value.get_secret_value(), "[secret]")
    return replace(finding, found=text)


async def _look(check: Check, patient: DoctorContext) -> list[Finding]:
    try:
        return await check.look(patient)
    except Exception as error:  # one check that fails must not hide what the others find
        log.debug("check_failed", check=check.subject, exc_info=True)
        return [failed(check.subject, f"The check itself failed ({type(error).__name__}: {error})", REPORT)]
