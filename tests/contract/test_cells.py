"""Tests of deploy/cells.sh below a folder, with real bots and a fake systemctl."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer

ROOT = Path(__file__).parents[2]
ANN = 1001
SYSTEMCTL = """\
#!/bin/sh
# starts what the drop-in of a unit names, as the unit would, and stops it; Python would take longer to start
command=$1
for unit; do :; done
echo "$*" >> "$MNEME_PREFIX/systemctl.log"
name=${unit#mneme@}
name=${name%.service}
kept=$MNEME_PREFIX/$name.pid
lock=$MNEME_PREFIX/$name.lock

# the program inherits the lock and holds it until its end
is_active() { ! flock --nonblock "$lock" true; }

case $command in
is-active)
    state=inactive status=3
    if is_active; then state=active status=0; fi
    [ "$2" = --quiet ] || echo $state
    exit $status
    ;;
start)
    program=$(sed -n 's/^ExecStart=\\(.\\)/\\1/p' "$MNEME_PREFIX/etc/systemd/system/$unit.d/cell.conf" | tail -n 1)
    export MNEME_DATA_DIR="$MNEME_PREFIX/var/lib/mneme-$name" MNEME_ENV_FILE="$MNEME_PREFIX/etc/mneme/$name.env"
    exec 9> "$lock"
    flock 9
    # shellcheck disable=SC2086
    setsid $program >> "$MNEME_PREFIX/$name.log" 2>&1 < /dev/null &
    printf %s $! > "$kept"
    ;;
stop | disable)
    if is_active; then
        kill "$(cat "$kept")"
        flock "$lock" true
    fi
    ;;
esac
"""
BREAKS_AT_MIGRATION = 'MIGRATIONS += (("CREATE TABLE later (x)",), ("CREATE TABLE sessions (x)",))\n'
MIGRATES = 'MIGRATIONS += (("CREATE TABLE later (x)",),)\n'


@dataclass(slots=True)
class Machine:
    """A machine below a folder with cells, each with its own Telegram."""

    prefix: Path
    telegrams: dict[str, BotApiServer]

    async def run_cells(self, *arguments: str, expect: int = 0) -> str:
        """Run the script and return its output."""
        environment = os.environ | {"MNEME_PREFIX": str(self.prefix), "PATH": f"{self.prefix}/bin:{os.environ['PATH']}"}
        process = await asyncio.create_subprocess_exec(
            *(str(ROOT / "deploy" / "cells.sh"), *arguments),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said = (await process.communicate())[0].decode()
        assert process.returncode == expect, said
        return said

    def create_release(self, name: str, more_schema: str = "") -> Path:
        """Create a release of this program, optionally with more migrations."""
        folder, source = self.prefix / "opt/mneme/releases" / name, ROOT
        if more_schema:
            source = folder / "source"
            for package in ("bot", "pipeline", "memory", "config"):
                # With the compiled modules, except for those that another test is writing.
                shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("*.pyc.*"))
            schema = source / "memory" / "store" / "schema.py"
            text = schema.read_text(encoding="utf-8")
            newest = "NEWEST_FORMAT = "
            schema.write_text(text.replace(newest, more_schema + newest, 1), encoding="utf-8")
        program = folder / "bin" / "mneme"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {sys.executable} -m bot "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        return folder

    async def wait_for_answer(self, name: str, text: str) -> None:
        """Send a message to a cell and wait for the answer."""
        telegram = self.telegrams[name]
        telegram.user_says(text, chat_id=ANN)
        await telegram.wait_for(lambda: any(f"You said: {text}" in message.text for message in telegram.list_sent(ANN)))


@pytest.fixture
async def machine(tmp_path: Path, model: ModelServer) -> AsyncIterator[Machine]:
    """Create a machine with a first release and two running cells, anna and boris."""
    prefix = tmp_path / "machine"
    for folder in ("bin", "etc/mneme", "etc/systemd/system", "var/lib"):
        (prefix / folder).mkdir(parents=True)
    systemctl = prefix / "bin" / "systemctl"
    systemctl.write_text(SYSTEMCTL, encoding="utf-8")
    systemctl.chmod(0o755)
    async with BotApiServer() as of_anna, BotApiServer() as of_boris:
        machine = Machine(prefix, {"anna": of_anna, "boris": of_boris})
        (prefix / "opt/mneme/releases").mkdir(parents=True)
        (prefix / "opt/mneme/current").symlink_to(machine.create_release("1"))
        for name, telegram in machine.telegrams.items():
            lines = (
                f"TELEGRAM_BOT_TOKEN={BotApiServer.TOKEN}",
                f"TELEGRAM_API_URL={telegram.url}",
                f"TELEGRAM_ALLOWED_IDS={ANN}",
                f"OPENAI_BASE_URL={model.url}",
                "LLM_MODEL=scripted",
                "METRICS_PORT=1",
            )
            (tmp_path / f"{name}.env").write_text("\n".join(lines), encoding="utf-8")
            await machine.run_cells("create", name, "--env", str(tmp_path / f"{name}.env"), "--memory", "200M")
        try:
            yield machine
        finally:
            for pid in prefix.glob("*.pid"):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(int(pid.read_text(encoding="ascii")), signal.SIGKILL)


async def test_cells_are_created_listed_backed_up_stopped_and_removed(machine: Machine) -> None:
    dropin = machine.prefix / "etc/systemd/system/mneme@anna.service.d/cell.conf"
    assert {"MemoryMax=200M", "CPUQuota=50%"} <= set(dropin.read_text(encoding="utf-8").splitlines())
    await machine.wait_for_answer("anna", "hello")
    lines = (await machine.run_cells("list")).splitlines()
    assert [line.split()[:3] for line in lines] == [["anna", "active", "1"], ["boris", "active", "1"]]
    targets = json.loads(await machine.run_cells("list", "--prometheus"))
    assert targets == [
        {"targets": ["127.0.0.1:9464"], "labels": {"bot": "anna"}},
        {"targets": ["127.0.0.1:9465"], "labels": {"bot": "boris"}},
    ]
    await machine.run_cells("backup", "--all")
    backups = machine.prefix / "var/lib/mneme-backups"
    assert {path.parent.parent.name for path in backups.rglob("*.zip")} == {"anna", "boris"}
    await machine.run_cells("stop", "boris")
    assert "boris                inactive" in await machine.run_cells("list")
    await machine.run_cells("start", "boris")
    await machine.wait_for_answer("boris", "hello again")
    assert "/etc/mneme/boris.env are still there" in await machine.run_cells("remove", "boris")
    assert (machine.prefix / "var/lib/mneme-boris/mneme.db").exists()
    await machine.run_cells("remove", "anna", "--purge")
    assert not (machine.prefix / "var/lib/mneme-anna").exists()
    assert await machine.run_cells("list") == ""


async def test_cell_that_fails_to_upgrade_runs_its_former_version(
    machine: Machine,
) -> None:
    for name in machine.telegrams:
        await machine.wait_for_answer(name, "hello")
    broken = machine.create_release("2", BREAKS_AT_MIGRATION)
    upgrading = asyncio.create_task(machine.run_cells("upgrade", "anna", "--to", str(broken), expect=1))
    for number in range(5):
        await machine.wait_for_answer("boris", f"still there {number}?")
    assert "run the former version: anna" in await upgrading
    await machine.wait_for_answer("anna", "do you know me?")
    assert any("hello" in message.text for message in machine.telegrams["anna"].list_sent(ANN))
    better = machine.create_release("3", MIGRATES)
    said = await machine.run_cells("upgrade", "--all", "--to", str(better))
    assert "anna runs 3." in said
    assert "boris runs 3." in said
    for name in machine.telegrams:
        await machine.wait_for_answer(name, "and now?")
    # A version that can't read the migrated database is restored with the earlier backup.
    again = await machine.run_cells("upgrade", "boris", "--to", str(machine.prefix / "opt/mneme/releases/1"), expect=1)
    assert "run the former version: boris" in again
    await machine.wait_for_answer("boris", "at last?")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create"], "create needs a name"),
        (["create", "../x"], "../x is not"),
        (["create", "anna"], "There is a bot anna already"),
        (["create", "clara", "--memory", "much"], "much is not"),
        (["create", "clara", "--cpu"], "--cpu needs a value"),
        (["upgrade"], "upgrade needs names, or --all"),
        (["stop", "clara"], "There is no cell clara"),
        (["remove", "clara"], "remove needs the name of a cell"),
        (["dance"], "dance is not known"),
    ],
)
async def test_invalid_arguments_are_refused_before_acting(tmp_path: Path, arguments: list[str], said: str) -> None:
    program = tmp_path / "opt/mneme/current/bin/mneme"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "etc/mneme").mkdir(parents=True)
    (tmp_path / "etc/mneme/anna.env").touch()
    before = sorted(tmp_path.rglob("*"))
    assert said in await Machine(tmp_path, {}).run_cells(*arguments, expect=1)
    assert sorted(tmp_path.rglob("*")) == before
