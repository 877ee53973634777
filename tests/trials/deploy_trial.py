"""Try the deployment on a real system: `make deploy-test`, as root, on Debian with debootstrap and systemd.

The trial creates a fresh Debian in a folder and starts it with its own systemd. Then it runs the installer from a
clone, with the local Bot API and model servers of the tests. The trial takes some minutes and needs the network, so
`make check` does not include it. Set MNEME_TRIAL_BASE to the folder of an existing Debian to skip debootstrap.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer

ANN = 1001
CHECKOUT = Path(__file__).parents[2]
PACKAGES = "systemd,dbus,ca-certificates,python3,git,procps"
BOOT = """
set -e
cd /
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
mkdir -p "$1/.former"
cd "$1"
pivot_root . .former # from within a mere chroot the kernel makes no user namespaces, which PrivateUsers= needs
cd /
umount -l /.former
exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/lib/systemd/systemd --system \
    --unit=timers.target --show-status=no --log-target=console --log-level=err
"""
NAMESPACES = ("--mount", "--pid", "--uts", "--ipc", "--cgroup")
BREAKS_AT_MIGRATION = 'MIGRATIONS += (("CREATE TABLE later (x)",), ("CREATE TABLE sessions (x)",))\n'
BREAKS_AT_START = 'MIGRATIONS += (("CREATE TABLE later (x)",),)\n'


class StepFailed(Exception):
    """Raised if a step of the trial fails."""


class Root:
    """A Debian in a folder with a running systemd."""

    def __init__(self, folder: Path, init: int) -> None:
        self.folder = folder
        self._enter = ("nsenter", f"--target={init}", *NAMESPACES)
        passed = [f"{name}={os.environ[name]}" for name in ("PIP_CERT", "PIP_INDEX_URL") if name in os.environ]
        self._env = (
            "env",
            "--ignore-environment",
            "--chdir=/",
            "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=/root",
            *passed,
        )

    async def run(self, *command: str, expect: int = 0) -> str:
        """Run a command and return its output. Raise Failed unless it exits with `expect`."""
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *(*self._enter, *self._env, *command),
            cwd="/",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said = (await process.communicate())[0].decode(errors="replace").strip()
        print(f"[{time.monotonic() - began:5.1f} s] {' '.join(command)} -> {process.returncode}", flush=True)
        for line in said.splitlines()[-6:]:
            print(f"          {line[:200]}", flush=True)
        if process.returncode != expect:
            raise StepFailed(f"{' '.join(command)} ended with {process.returncode}, not {expect}:\n{said}")
        return said

    async def wait_until(self, wanted: str, *command: str, patience: float = 60) -> None:
        """Repeat a command until its output contains `wanted`."""
        deadline = time.monotonic() + patience
        while True:
            with contextlib.suppress(StepFailed):
                if wanted in (said := await self.run(*command)):
                    return
            if time.monotonic() > deadline:
                raise StepFailed(f"{' '.join(command)} never said {wanted}: {said}")
            await asyncio.sleep(1)

    async def read_property(self, name: str, unit: str = "mneme.service") -> str:
        """Return the properties of a unit."""
        return await self.run("systemctl", "show", "--value", f"--property={name}", unit)


@contextlib.asynccontextmanager
async def started(folder: Path) -> AsyncIterator[Root]:
    """Start the Debian in `folder` and stop it at the end of the context."""
    unshare = ("unshare", "--kill-child", "--fork", "--mount-proc", *NAMESPACES)
    outer = await asyncio.create_subprocess_exec(*unshare, "sh", "-c", BOOT, "boot", str(folder))
    try:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        while not (init := children.read_text(encoding="ascii").split()):
            await asyncio.sleep(0.05)
        root = Root(folder, int(init[0]))
        await root.wait_until("running", "systemctl", "is-system-running", patience=30)
        yield root
    finally:
        outer.kill()
        await outer.wait()


async def fresh_debian(work: Path) -> Path:
    """Create a Debian 12 in a folder with the packages of a bare server."""
    folder = work / "root"
    if base := os.environ.get("MNEME_TRIAL_BASE"):
        await _run("cp", "--archive", base, str(folder))  # devices stay devices
    else:
        await _run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(folder))
    # it reaches the network as this machine does
    for name in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copyfile(Path("/") / name, folder / name)
    await _run("git", "clone", "-q", str(CHECKOUT), str(folder / "root" / "mneme"))
    return folder


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command)
    if await process.wait() != 0:
        raise StepFailed(f"{' '.join(command)} failed")


def format_settings(telegram: BotApiServer, model: ModelServer) -> str:
    return (
        f"TELEGRAM_BOT_TOKEN={telegram.token}\nTELEGRAM_API_URL={telegram.url}\nTELEGRAM_ALLOWED_IDS={ANN}\n"
        f"OPENAI_BASE_URL={model.url}\nLLM_MODEL=scripted\n"
    )


async def wait_for_answer(telegram: BotApiServer, text: str) -> None:
    """Send a message and wait for the bot's answer."""
    telegram.user_says(text, chat_id=ANN)
    await telegram.wait_for(lambda: any(text in message.text for message in telegram.list_sent(ANN)), timeout=60)
    print(f"          Telegram: {text!r} was answered", flush=True)


def change(root: Root, name: str, old: str, new: str) -> None:
    """Change a file of the clone, as a later version would."""
    path = root.folder / "root" / "mneme" / name
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new) if old else text + new, encoding="utf-8")


async def install(root: Root, telegram: BotApiServer) -> None:
    """Install the bot from nothing. Missing requirements are named first."""
    said = await root.run("/root/mneme/deploy/install.sh", expect=1)
    if "apt-get install python3.11-venv" not in said:
        raise StepFailed("the missing package was not named")
    await root.run("apt-get", "update", "-qq")
    await root.run("sh", "-c", "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null 2>&1")
    await root.run("cp", "-r", "/root/mneme", "/srv/mneme")
    await root.run("runuser", "-u", "nobody", "--", "/srv/mneme/deploy/install.sh", expect=1)
    await root.run("/root/mneme/deploy/install.sh", "--env", "/root/env")
    await wait_for_answer(telegram, "the first message")
    await root.run("mneme", "memory", "add", "wifi", "The guest wifi is called Kolibri")
    await root.run("systemd-analyze", "security", "--threshold=15", "mneme.service")
    await root.run("du", "-sm", "/opt/mneme")
    await root.run("sh", "-c", "ls -ld /etc/mneme /etc/mneme/mneme.env /var/lib/mneme /var/lib/mneme-backups")
    await root.run("sh", "-c", "grep VmRSS /proc/$(systemctl show --value -p MainPID mneme)/status")


async def survive(root: Root, telegram: BotApiServer) -> None:
    """Kill and hang the bot, with a watchdog of seconds instead of minutes."""
    await root.run("mkdir", "-p", "/run/systemd/system/mneme.service.d")
    short = "[Service]\\nWatchdogSec=5\\nRestartSec=1\\n"
    await root.run("sh", "-c", f"printf '{short}' >/run/systemd/system/mneme.service.d/trial.conf")
    await root.run("systemctl", "daemon-reload")
    await root.run("systemctl", "restart", "mneme")
    await root.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "mneme")
    await root.wait_until("1", "systemctl", "show", "--value", "--property=NRestarts", "mneme")
    await wait_for_answer(telegram, "after a kill")
    await root.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", "mneme")
    await root.wait_until("2", "systemctl", "show", "--value", "--property=NRestarts", "mneme", patience=200)
    await wait_for_answer(telegram, "after a starved watchdog")
    await root.run("rm", "-r", "/run/systemd/system/mneme.service.d")
    await root.run("systemctl", "daemon-reload")


async def upgrade(root: Root, telegram: BotApiServer) -> None:
    """Upgrade to a working version, to a version with a failing migration, and to a version that fails to start."""
    change(root, "pyproject.toml", 'version = "0.1.0"', 'version = "0.1.1"')
    await root.run("/root/mneme/deploy/install.sh")
    await wait_for_answer(telegram, "after an upgrade")
    good = await root.run("readlink", "/opt/mneme/current")
    change(root, "memory/store/schema.py", "", BREAKS_AT_MIGRATION)
    await root.run("/root/mneme/deploy/install.sh", expect=1)
    await wait_for_answer(telegram, "after a migration that failed")
    change(root, "memory/store/schema.py", BREAKS_AT_MIGRATION, BREAKS_AT_START)
    change(root, "bot/telegram/service.py", "    bot = telegram_bot(app.settings)", "    raise SystemExit(3)")
    await root.run("/root/mneme/deploy/install.sh", expect=1)
    await wait_for_answer(telegram, "after a version that did not start")
    if await root.run("readlink", "/opt/mneme/current") != good:
        raise StepFailed("another version runs than the one that worked")
    await root.run("mneme", "memory", "show", "wifi")
    await root.run("git", "-C", "/root/mneme", "checkout", "-q", ".")


async def back_up(root: Root) -> None:
    """Restore the nightly backup into a second directory and compare the exports."""
    await root.run("systemctl", "start", "mneme-backup.service")
    await root.run("sh", "-c", "systemctl list-timers --no-legend | grep mneme")
    nightly = await root.run("sh", "-c", "ls /var/lib/mneme-backups/mneme/nightly/*.zip")
    await root.run("systemctl", "stop", "mneme")  # Later changes are not in the backup.
    await root.run("install", "-d", "-o", "mneme", "-g", "mneme", "/var/lib/mneme-second")
    await root.run("mneme", "restore", nightly, "--into", "/var/lib/mneme-second")
    await root.run("mneme", "export", "/tmp/first")
    second = "runuser -u mneme -- env MNEME_DATA_DIR=/var/lib/mneme-second /opt/mneme/current/bin/mneme"
    await root.run("sh", "-c", f"cd /tmp && {second} export /tmp/second")
    await root.run("diff", "-r", "/tmp/first", "/tmp/second")
    await root.run("systemctl", "start", "mneme")


async def install_second_bot(root: Root, other: BotApiServer) -> None:
    """Install a second bot next to the first."""
    await root.run("/root/mneme/deploy/install.sh", "--bot", "work", "--env", "/root/env-work")
    await wait_for_answer(other, "hello, second bot")
    await root.run("mneme", "@work", "memory", "list")
    await root.run("systemctl", "start", "mneme-backup@work.service")
    await root.run("systemctl", "is-active", "mneme", "mneme@work")


async def replicate(root: Root, telegram: BotApiServer) -> None:
    """Lose the data directory and restore it from a replica in a folder."""
    place = "/srv/replica"
    await root.run("/root/mneme/deploy/install.sh", "--replica", place)
    await wait_for_answer(telegram, "with a replica")
    await root.wait_until("replica: /srv/replica is", "mneme", "doctor")
    await root.run("sh", "-c", "systemctl kill --signal=KILL mneme; systemctl stop mneme; rm -rf /var/lib/mneme/*")
    await root.run("systemctl", "start", "mneme", expect=1)  # another machine holds the replica
    await root.run("mneme", "restore", "--replica", place, "--yes")
    await root.run("systemctl", "start", "mneme")
    await root.run("mneme", "memory", "show", "wifi")
    await wait_for_answer(telegram, "after the machine has burned")


async def run_cell(root: Root, other: BotApiServer) -> None:
    """Run a cell next to the bots, with limits and its own version."""
    await root.run("systemctl", "disable", "--now", "mneme@work")  # its Telegram is the cell's now
    await root.run("/root/mneme/deploy/cells.sh", "create", "anna", "--env", "/root/env-work", "--memory", "250M")
    await wait_for_answer(other, "hello, cell")
    if await root.read_property("MemoryMax", "mneme@anna.service") != str(250 * 1024 * 1024):
        raise StepFailed("the cell has no limit")
    before = await root.run("readlink", "/opt/mneme/cells/anna", "/opt/mneme/current")
    await root.run("/root/mneme/deploy/cells.sh", "upgrade", "--all")
    await wait_for_answer(other, "after its upgrade")
    after = await root.run("readlink", "/opt/mneme/cells/anna", "/opt/mneme/current")
    if before.splitlines()[1] != after.splitlines()[1] or before.splitlines()[0] == after.splitlines()[0]:
        raise StepFailed("not just the cell was upgraded")
    await root.run("mneme", "@anna", "memory", "list")
    await root.run("/root/mneme/deploy/cells.sh", "backup", "anna")
    await root.run("/root/mneme/deploy/cells.sh", "list")
    await root.run("/root/mneme/deploy/cells.sh", "remove", "anna", "--purge")


async def uninstall(root: Root) -> None:
    """Uninstall the program, and the memory only on request."""
    await root.run("/root/mneme/deploy/uninstall.sh")
    await root.run("ls", "/var/lib/mneme/mneme.db", "/etc/mneme/mneme.env")
    await root.run("sh", "-c", "! ls /opt/mneme /usr/local/bin/mneme /etc/systemd/system/mneme* 2>/dev/null")
    await root.run("/root/mneme/deploy/uninstall.sh", "--purge", "--yes")
    await root.run("sh", "-c", "! ls -d /etc/mneme /var/lib/mneme* 2>/dev/null; ! id mneme 2>/dev/null")


async def run_trial() -> None:
    """Run all steps in the order of a server's life."""
    with tempfile.TemporaryDirectory(prefix="mneme-trial-", ignore_cleanup_errors=True) as name:
        folder = await fresh_debian(Path(name))
        other_token = "7654321:TEST-token-for-another-local-server"
        async with ModelServer() as model, BotApiServer() as telegram, BotApiServer(other_token, "work_bot") as other:
            (folder / "root" / "env").write_text(format_settings(telegram, model), encoding="utf-8")
            (folder / "root" / "env-work").write_text(format_settings(other, model), encoding="utf-8")
            async with started(folder) as root:
                try:
                    await install(root, telegram)
                    await survive(root, telegram)
                    await upgrade(root, telegram)
                    await back_up(root)
                    await install_second_bot(root, other)
                    await replicate(root, telegram)
                    await run_cell(root, other)
                    await uninstall(root)
                except BaseException:
                    print(await root.run("journalctl", "--no-pager", "-n", "40", "-o", "cat"), flush=True)
                    raise
    print("The deployment does what it says.", flush=True)


if __name__ == "__main__":
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in ("debootstrap", "unshare", "nsenter")):
        sys.exit("This needs root, and debootstrap and util-linux: apt-get install debootstrap util-linux")
    asyncio.run(run_trial())
