"""All checks, in the order of the report."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import structlog

from bot.doctor import installation, memory, services
from bot.doctor.finding import (
    Check,
    DoctorContext,
    Finding,
    create_failed,
    create_failed_from_error,
    create_note,
    split_remedy,
)
from bot.feature import Feature, check_settings
from config.errors import ConfigurationError
from config.loading import load_settings
from config.secrets import mask_in_log_line
from config.settings import Settings
from memory.clock import system_clock
from memory.store.integrity import inspect_database

log = structlog.get_logger(__name__)

REPORT = "Run this again with LOG_LEVEL=debug and report the output."

MIN_SECRET_CHARS = 6
"""Minimum length of a masked secret. Shorter values, such as `none` for servers without keys, may be parts of words."""


CHECKS: dict[str, Check] = {
    "settings": installation.check_settings,
    "data directory": installation.check_data_directory,
    "database": installation.check_database,
    "last backup": installation.check_last_backup,
    "disk": installation.check_disk,
    "time zone": installation.check_time_zone,
    "token": services.check_telegram,
    "model": services.check_models,
    "memory": memory.check_memory,
}


async def examine(
    backups: Path | None = None, features: Collection[Feature] = (), broken: Sequence[str] = ()
) -> list[Finding]:
    """Run all checks and those of the features concurrently. Broken installations never raise.

    Args:
        broken: a sentence about each feature that can't be loaded.
    """
    unlisted = [create_failed("features", *split_remedy(sentence)) for sentence in broken]
    checks = dict(CHECKS)
    for feature in features:
        checks |= feature.checks
    try:
        settings = load_settings(check_names=not broken)
        check_settings(settings, features)
    except ConfigurationError as error:
        wrong = [create_failed_from_error("settings", ConfigurationError(problem)) for problem in error.problems]
        rest = create_note("other checks", "They need correct settings, so they come next")
        return [*wrong, *unlisted, rest, installation.report_versions()]
    database = settings.database_file
    state = await asyncio.to_thread(inspect_database, database)
    context = DoctorContext(settings, database, state, system_clock, backups)
    groups = await asyncio.gather(*(_run_check(*check, context) for check in checks.items()))
    lines = [finding for findings in groups for finding in findings]
    return [*(_mask_secrets(finding, settings) for finding in [*lines, *unlisted]), installation.report_versions()]


def _mask_secrets(finding: Finding, settings: Settings) -> Finding:
    """Mask the configured secrets in a finding, since servers and libraries may quote them."""
    text = mask_in_log_line(finding.found)
    for secret in settings.list_secrets():
        if len(secret.get_secret_value()) >= MIN_SECRET_CHARS:
            text = text.replace(secret.get_secret_value(), "[secret]")
    return replace(finding, found=text)


async def _run_check(subject: str, check: Check, context: DoctorContext) -> list[Finding]:
    try:
        return await check(context)
    except Exception as error:  # A failed check must not hide the results of others
        log.debug("check_failed", check=subject, exc_info=True)
        return [create_failed(subject, f"The check itself failed ({type(error).__name__}: {error})", REPORT)]
