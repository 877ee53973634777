"""Whether llama.cpp, the embedded model's engine, can run on this machine, and what it lacks where it can't.

It is loaded in a child process: what is missing shows only when the dynamic loader looks for it, and native code
that this processor can't run takes the whole process with it.
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

# the packages of Debian and Ubuntu that bring the shared libraries which the engine is linked to
_DEBIAN_PACKAGES = {"libgomp.so.1": "libgomp1", "libstdc++.so.6": "libstdc++6", "libgcc_s.so.1": "libgcc-s1"}
_NO_LIBRARY = re.compile(r"([\w+.-]+\.so[\w.]*): cannot open shared object file")

_COMPILED_IN = re.compile(r"(\w+) = 1\b")
# what llama.cpp calls the instructions that it was built to use, and what Linux calls them
_CPU_FLAGS = {"AVX": "avx", "AVX2": "avx2", "AVX512": "avx512f", "F16C": "f16c", "FMA": "fma", "BMI2": "bmi2"}

GET_ENGINE = "`make local` in the checkout, or on a server `sudo deploy/install.sh --local`"
"""How the packages that only the embedded model needs come here."""


class EmbeddedModelError(ModelError):
    """The embedded model can't run; the text is one sentence that says why and what to do."""


def check_package() -> None:
    """EmbeddedModelError if the Python package with the engine is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise EmbeddedModelError(
            _(
                "The embedded model needs the package xllamacpp: run `make local` in the checkout, or on a server"
                " `sudo deploy/install.sh --local`, or connect a model server with `mneme setup`."
            )
        )


def check_engine() -> None:
    """Load the engine in a child process, which takes a moment. EmbeddedModelError says what it lacks."""
    check_package()
    try:
        tried = subprocess.run(  # noqa: S603 - our own text
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
    if tried.returncode != 0:
        lacking = engine_failure(tried.returncode, tried.stderr)
        raise EmbeddedModelError(lacking or _unknown(tried.returncode, tried.stderr))
    if instructions := _lacking_instructions(tried.stdout):
        raise EmbeddedModelError(_processor_lacks(", ".join(instructions)))


def engine_failure(status: int | None, text: str) -> str | None:
    """The sentence for what made the engine fail, by its process's exit status and last words; None: something else."""
    if status == -signal.SIGILL:
        return _processor_lacks(_("instructions"))
    if missing := _NO_LIBRARY.search(text):
        library = missing[1]
        package = _DEBIAN_PACKAGES.get(library)
        if package is None:
            return _(
                "The embedded model needs the shared library {library}: install the package of your system that brings"
                " it, then try again.",
                library=library,
            )
        return _("The embedded model needs {package}: run apt-get install {package}, then try again.", package=package)
    return None


def _unknown(status: int, text: str) -> str:
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    reason = last.rstrip(".") or _("its process ended with status {status}", status=status)
    return _(
        "The embedded model's engine can't be loaded ({reason}): connect a model server with `mneme setup`.",
        reason=reason,
    )


def _processor_lacks(what: str) -> str:
    return _(
        "This machine's processor lacks {what} that the embedded model's engine needs: connect a model server with"
        " `mneme setup`.",
        what=what,
    )


def _lacking_instructions(system_info: str) -> list[str]:
    """What the engine was built to use and this processor does not have; known on Linux with x86 only."""
    try:
        listed = re.search(r"^flags\s*:(.*)$", _CPU_INFO.read_text(encoding="ascii", errors="replace"), re.MULTILINE)
    except OSError:
        return []
    if listed is None:
        return []
    present = set(listed[1].split())
    used = (name for name in _COMPILED_IN.findall(system_info) if name in _CPU_FLAGS)
    return [name for name in used if _CPU_FLAGS[name] not in present]
