"""All checks, in the order of the report."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import structlog
from pydantic import SecretStr

from bot.doctor import installation, memory, services
from bot.doctor.finding import DoctorContext, Finding, failed, failed_with_error, note
from config.errors import ConfigurationError
from config.secrets import without_shapes
from config.settings import Settings, load_settings
from memory.clock import system_clock
from memory.store.integrity import inspect_database

log = structlog.get_logger(__name__)

REPORT = "Run this again with LOG_LEVEL=debug and report the output."

MIN_SECRET_CHARS = 6
"""Minimum length of a masked secret. Shorter values, such as `none` for servers without keys, may be parts of words."""


CHECKS: dict[str, Callable[[DoctorContext], Awaitable[list[Finding]]]] = {
    "settings": installation.check_settings,
    "data directory": installation.check_data_directory,
    "database": installation.check_database,
    "last backup": installation.check_last_backup,
    "replica": services.check_replica,
    "disk": installation.check_disk,
    "time zone": installation.check_time_zone,
    "token": services.check_telegram,
    "model": services.check_models,
    "embedder": services.check_embeddings,
    "LightRAG": services.check_lightrag,
    "memory": memory.check_memory,
    "skills": installation.check_skills,
    "tools": services.check_tools,
}


async def examine(backups: Path | None = None) -> list[Finding]:
    """Run all checks concurrently. Broken installations never raise."""
    try:
        settings = load_settings()
    except ConfigurationError as error:
        unseen = [note(subject, "Not checked, because the settings can't be read") for subject in [*CHECKS][1:]]
        return [failed_with_error("settings", error), *unseen, installation.versions()]
    database = settings.database_file
    state = await asyncio.to_thread(inspect_database, database)
    context = DoctorContext(settings, database, state, system_clock, backups)
    groups = await asyncio.gather(*(_run_check(subject, context) for subject in CHECKS))
    lines = [finding for findings in groups for finding in findings]
    return [*(_without_secrets(finding, settings) for finding in lines), installation.versions()]


def _without_secrets(finding: Finding, settings: Settings) -> Finding:
    """Mask the configured secrets in a finding, since servers and libraries may quote them."""
    text = without_shapes(finding.found)
    values = [getattr(settings, name) for name in Settings.model_fields]
    for value in [*values, *(endpoint.key for endpoint in settings.llm_endpoints)]:
        if isinstance(value, SecretStr) and len(value.get_secret_value()) >= MIN_SECRET_CHARS:
            text = text.replace(value.get_secret_value(), "[secret]")
    return replace(finding, found=text)


async def _run_check(subject: str, context: DoctorContext) -> list[Finding]:
    try:
        return await CHECKS[subject](context)
    except Exception as error:  # A failed check must not hide the results of others
        log.debug("check_failed", check=subject, exc_info=True)
        return [failed(subject, f"The check itself failed ({type(error).__name__}: {error})", REPORT)]
