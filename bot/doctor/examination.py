"""The examination: all checks, in the order in which they are told."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog
from pydantic import SecretStr

from bot.doctor import installation, memory, services
from bot.doctor.finding import DoctorContext, Finding, failed, failed_as_said, note
from config.errors import ConfigurationError
from config.secrets import without_shapes
from config.settings import Settings, load_settings
from memory.clock import system_clock
from memory.store.integrity import inspect_database

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

log = structlog.get_logger(__name__)

REPORT = "Run this again with LOG_LEVEL=debug and report what it says."

SHORTEST_SECRET = 6
"""Characters; what is shorter, such as the `none` of servers without keys, is no secret and may be part of a word."""


CHECKS: dict[str, Callable[[DoctorContext], Awaitable[list[Finding]]]] = {
    "settings": installation.settings,
    "data directory": installation.data_directory,
    "database": installation.database,
    "last backup": installation.last_backup,
    "replica": services.replica,
    "disk": installation.disk,
    "time zone": installation.time_zone,
    "token": services.telegram,
    "model": services.models,
    "embedder": services.embeddings,
    "LightRAG": services.lightrag,
    "memory": memory.memory,
    "skills": installation.skills,
    "tools": services.tools,
}
"""What looks at each subject, in the order in which they are told."""


async def examine(backups: Path | None = None) -> list[Finding]:
    """Look at everything; the checks wait for the network beside each other. Never raises for what is broken."""
    try:
        settings = load_settings()
    except ConfigurationError as error:
        unseen = [note(subject, "Not looked at, since the settings can't be read") for subject in [*CHECKS][1:]]
        return [failed_as_said("settings", error), *unseen, installation.versions()]
    database = settings.database_file
    state = await asyncio.to_thread(inspect_database, database)
    context = DoctorContext(settings, database, state, system_clock, backups)
    groups = await asyncio.gather(*(_look(subject, context) for subject in CHECKS))
    lines = [finding for findings in groups for finding in findings]
    return [*(_without_secrets(finding, settings) for finding in lines), installation.versions()]


def _without_secrets(finding: Finding, settings: Settings) -> Finding:
    """Mask the secrets of the settings: servers and libraries may quote what they were sent."""
    text = without_shapes(finding.found)
    values = [getattr(settings, name) for name in Settings.model_fields]
    for value in [*values, *(endpoint.key for endpoint in settings.llm_endpoints)]:
        if isinstance(value, SecretStr) and len(value.get_secret_value()) >= SHORTEST_SECRET:
            text = text.replace(value.get_secret_value(), "[secret]")
    return replace(finding, found=text)


async def _look(subject: str, context: DoctorContext) -> list[Finding]:
    try:
        return await CHECKS[subject](context)
    except Exception as error:  # one check that fails must not hide what the others find
        log.debug("check_failed", check=subject, exc_info=True)
        return [failed(subject, f"The check itself failed ({type(error).__name__}: {error})", REPORT)]
