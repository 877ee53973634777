"""A simulated power cut: only data that was synced reaches the disk.

`python -m benchmarks.storm --power-cut` uses it: the next start finds the synced state instead of the files that the
killed program left. It needs a C compiler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("synced.c")


class PowerCut:
    """Records the data that a program syncs under `root`, and cuts the power."""

    def __init__(self, root: Path, scratch: Path) -> None:
        self._root = root
        self._kept = scratch / "synced"
        self._library = scratch / "synced.so"
        self._kept.mkdir()
        compiler = shutil.which("cc") or sys.exit("A C compiler is needed: install gcc.")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self._library, SOURCE, "-ldl"], check=True)  # noqa: S603  # Our own

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables for the program."""
        return {"LD_PRELOAD": str(self._library), "SYNCED_ROOT": str(self._root), "SYNCED_KEPT": str(self._kept)}

    def cut(self) -> None:
        """Reset the folder to its synced state. The program must have ended."""
        if not (self._kept / "log").exists():
            return
        image = self._root.with_name(f"{self._root.name}.image")
        image.mkdir(mode=0o700)
        for path, inode in self._read_synced().items():
            target = image / path.relative_to(self._root)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            copy = self._kept / inode
            target.write_bytes(copy.read_bytes() if copy.exists() else b"")  # The name was synced, but not the content
            target.chmod(0o600)
        shutil.rmtree(self._root)
        image.rename(self._root)
        self.sync_all()

    def sync_all(self) -> None:
        """Treat all data in the folder as synced. The program must have ended."""
        shutil.rmtree(self._kept)
        self._kept.mkdir()
        with (self._kept / "log").open("a", encoding="utf-8") as log:
            for path in self._root.rglob("*"):
                if path.is_file():
                    inode = path.stat().st_ino
                    shutil.copyfile(path, self._kept / str(inode))
                    log.write(f"F {inode} {path}\n")

    def _read_synced(self) -> dict[Path, str]:
        """Return the inode of each synced file name."""
        names: dict[Path, str] = {}
        folder = self._root
        for line in (self._kept / "log").read_text(encoding="utf-8").splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "F":  # Syncing a new file syncs its name too, as on ext4
                inode, _, path = rest.partition(" ")
                names[Path(path)] = inode
            elif kind == "D":
                folder = Path(rest)
                names = {path: inode for path, inode in names.items() if path.parent != folder}
            else:
                inode, _, name = rest.partition(" ")
                names[folder / name] = inode
        return {path: inode for path, inode in names.items() if not path.name.endswith("-shm")}
