"""Checks whether llama.cpp, the engine of the embedded model, can run on this machine.

The engine is loaded in a child process: only the dynamic loader can tell that a library is missing, and native code
that the processor can't run crashes the process.
"""

from __future__ import annotations

import importlib.util
import re
import signal
import subprocess
import sys
from pathlib import Path

from config.texts import _
from pipeline.models.model import ModelError

_CPU_INFO = Path("/proc/cpuinfo")
_PROBE = "import xllamacpp; print(xllamacpp.get_system_info())"
_PROBE_SECONDS = 60.0

# The packages of Debian and Ubuntu with the shared libraries that the engine needs.
_DEBIAN_PACKAGES = {"libgomp.so.1": "libgomp1", "libstdc++.so.6": "libstdc++6", "libgcc_s.so.1": "libgcc-s1"}
_NO_LIBRARY = re.compile(r"([\w+.-]+\.so[\w.]*): cannot open shared object file")

_COMPILED_IN = re.compile(r"(\w+) = 1\b")
# The names of instruction sets in llama.cpp, and in /proc/cpuinfo.
_CPU_FLAGS = {"AVX": "avx", "AVX2": "avx2", "AVX512": "avx512f", "F16C": "f16c", "FMA": "fma", "BMI2": "bmi2"}

GET_ENGINE = "`make local` in the checkout, or on a server `sudo deploy/install.sh --local`"


class EmbeddedModelError(ModelError):
    """Raised if the embedded model can't run. The text tells the user why and what to do."""


def check_package() -> None:
    """Raise EmbeddedModelError if the Python package with the engine is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise EmbeddedModelError(
            _(
                "The embedded model needs the package xllamacpp: run `make local` in the checkout, or on a server"
                " `sudo deploy/install.sh --local`, or connect a model server with `mneme setup`."
            )
        )


def check_engine() -> None:
    """Load the engine in a child process, which takes a moment. Raises EmbeddedModelError if that fails."""
    check_package()
    try:
        probe = subprocess.run(  # noqa: S603  # The command is a constant.
            [sys.executable, "-P", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EmbeddedModelError(
            _(
                "The embedded model's engine did not load within {seconds} seconds: try again when the machine is less"
                " busy, or connect a model server with `mneme setup`.",
                seconds=f"{_PROBE_SECONDS:g}",
            )
        ) from None
    if probe.returncode != 0:
        reason = explain_engine_failure(probe.returncode, probe.stderr)
        raise EmbeddedModelError(reason or _explain_unknown_failure(probe.returncode, probe.stderr))
    if instructions := _find_missing_instructions(probe.stdout):
        raise EmbeddedModelError(_explain_processor(", ".join(instructions)))


def explain_engine_failure(status: int | None, text: str) -> str | None:
    """Return a sentence about a known failure, by exit status and error output. None if the reason is unknown."""
    if status == -signal.SIGILL:
        return _explain_processor(_("instructions"))
    if missing := _NO_LIBRARY.search(text):
        library = missing[1]
        package = _DEBIAN_PACKAGES.get(library)
        if package is None:
            return _(
                "The embedded model needs the shared library {library}: install the system package that contains it,"
                " then try again.",
                library=library,
            )
        return _("The embedded model needs {package}: run apt-get install {package}, then try again.", package=package)
    return None


def _explain_unknown_failure(status: int, text: str) -> str:
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    reason = last.rstrip(".") or _("its process ended with status {status}", status=status)
    return _(
        "The embedded model's engine can't be loaded ({reason}): connect a model server with `mneme setup`.",
        reason=reason,
    )


def _explain_processor(what: str) -> str:
    return _(
        "This machine's processor lacks {what} that the embedded model's engine needs: connect a model server with"
        " `mneme setup`.",
        what=what,
    )


def _find_missing_instructions(system_info: str) -> list[str]:
    """Return the instruction sets that the engine uses and the processor lacks. Empty except on Linux with x86."""
    try:
        flags = re.search(r"^flags\s*:(.*)$", _CPU_INFO.read_text(encoding="ascii", errors="replace"), re.MULTILINE)
    except OSError:
        return []
    if flags is None:
        return []
    present = set(flags[1].split())
    used = (name for name in _COMPILED_IN.findall(system_info) if name in _CPU_FLAGS)
    return [name for name in used if _CPU_FLAGS[name] not in present]
