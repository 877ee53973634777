"""`mneme doctor`."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.doctor.finding import Finding

COLOURS = {"ok": typer.colors.GREEN, "note": None, "warning": typer.colors.YELLOW, "failed": typer.colors.RED}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
    backups: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the backups are, if not where deploy/install.sh has them.")
    ] = None,
) -> None:
    """Look at everything that can be wrong, and say what to do. Exit status 1 when something does not work."""
    from bot.doctor.examination import examine
    from bot.doctor.finding import Verdict

    _log_little()
    findings = asyncio.run(examine(backups))
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        _print(findings)
    raise SystemExit(1 if any(finding.verdict is Verdict.FAILED for finding in findings) else 0)


def _log_little() -> None:
    """What is wrong is told as a finding: the log keeps silent unless the person asks for it."""
    from config.logs import configure_logging

    configure_logging("debug" if os.environ.get("LOG_LEVEL", "").lower() == "debug" else "critical", "auto")


def _print(findings: Iterable[Finding]) -> None:
    for finding in findings:
        verdict = typer.style(f"{finding.verdict:8}", fg=COLOURS[finding.verdict])
        typer.echo(f"{verdict} {finding.name}: {finding.found}")
        if finding.remedy:
            typer.echo(f"{'':8} -> {finding.remedy}")
