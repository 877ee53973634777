"""The embedded model: a model on this machine with the same API as a hosted one.

llama.cpp's server runs in a child process. In the bot's own process, loading a model would hold Python's global lock
for seconds, a crash in native code or the out-of-memory killer would end the bot, and native code would print to its
output. Stopping the child also releases all memory at once. The child exits when its standard input ends, so it never
outlives the bot.
"""

import asyncio
import contextlib
import os
import re
import secrets
import signal
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

import httpx
import structlog

from bot.features.local_model.engine import EmbeddedModelError, check_package, explain_engine_failure
from config.models import EmbeddedModel
from config.texts import N_, _, for_owner
from pipeline.child import JsonChild
from pipeline.models.failures import NOT_SET_UP

_CHILD = Path(__file__).with_name("embedded_child.py")
_MAX_THREADS = 4
log = structlog.get_logger(__name__)

# Timeout for saving or restoring the prompt state. The engine does neither while it answers.
_STATE_SECONDS = 5.0
_STOP_SECONDS = 5.0
_DEATH_SECONDS = 2.0
_MEMORY_EVENTS = Path("/proc/vmstat")
_LOG_TAIL_BYTES = 8000
_LOGGED_ERROR = re.compile(r"^[\d.]+ E (?:\S+: )?(.+)$", re.MULTILINE)
_OUT_OF_MEMORY = re.compile(r"insufficient memory|failed to allocate|std::bad_alloc")


def _count_oom_kills() -> int:
    """Return how many processes the out-of-memory killer has killed since boot, or 0 if that is unknown."""
    with contextlib.suppress(OSError):
        if match := re.search(r"^oom_kill (\d+)$", _MEMORY_EVENTS.read_text(encoding="ascii"), re.MULTILINE):
            return int(match[1])
    return 0


class _ModelProcess(JsonChild):
    """The process that runs the model, with its log."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # It is closed with the process.
        super().__init__(_CHILD, log=self._log)
        self._oom_kills_before = _count_oom_kills()

    @property
    def was_killed_for_memory(self) -> bool:
        return _count_oom_kills() > self._oom_kills_before

    def read_log_tail(self) -> str:
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
        return self._log.read().decode(errors="replace")

    def end(self, seconds: float = _STOP_SECONDS) -> None:
        super().end(seconds)
        self._log.close()


class PromptState:
    """The state of the engine's only slot, saved between runs so that the prompt isn't evaluated again.

    Evaluating the prompt takes most of the time of the first answer after a start. The file exists only while the model
    is not running. It contains the last conversation in the engine's format, so only its owner may read it, and
    `/forget all` deletes it too.

    Args:
        folder: The folder that the engine may write such files to.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._path = folder / name

    async def save(self, base_url: str, api_key: str) -> None:
        """Save the state of the slot. A failure only makes the next start slower."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Create the file before the engine does, to restrict its permissions.
        self._path.touch(mode=0o600)
        if not await self._act("save", base_url, api_key):
            self.forget()

    async def restore(self, base_url: str, api_key: str) -> None:
        if self._path.exists():
            await self._act("restore", base_url, api_key)
            self.forget()

    async def erase(self, base_url: str, api_key: str) -> None:
        await self._act("erase", base_url, api_key)

    def forget(self) -> None:
        self._path.unlink(missing_ok=True)

    async def _act(self, action: str, base_url: str, api_key: str) -> bool:
        url = f"{base_url.removesuffix('/v1')}/slots/0"
        try:
            async with httpx.AsyncClient(
                timeout=_STATE_SECONDS, headers={"Authorization": f"Bearer {api_key}"}
            ) as client:
                answer = await client.post(url, params={"action": action}, json={"filename": self._path.name})
            answer.raise_for_status()
        except httpx.HTTPError as error:
            log.info("prompt_state_failed", action=action, error=str(error) or type(error).__name__)
            return False
        log.debug("prompt_state", action=action)
        return True


class EmbeddedServer:
    """A local model that is started on demand and serves chat completions on a loopback port.

    Call `start` before every request: it costs nothing while the model runs, and restarts the model if it has died.
    Every request must carry `api_key`, a random token that keeps other users of the machine out.

    Closing a request's connection stops the work on it within about two seconds. With the SDK of OpenAI, close the
    stream: its headers arrive at once, so a task that is cancelled later already has one, and an unclosed stream runs
    to its end. Sometimes the server closes a connection just after a streamed answer, so clients must repeat a request
    without a response (`max_retries` of 1 or more).

    The server answers one request at a time, since each further one would need the memory of a whole context.

    Args:
        threads: Number of cores to use. The default is all, but at most 4.
        load_seconds: Timeout for loading the model.
        state: Stores the prompt state while the model doesn't run. None stores nothing.
    """

    def __init__(
        self,
        model: EmbeddedModel,
        weights: Path,
        *,
        threads: int | None = None,
        load_seconds: float = 300.0,
        state: PromptState | None = None,
    ) -> None:
        self.model = model
        self.weights = weights
        self.api_key = secrets.token_urlsafe(24)
        self._threads = threads if threads is not None else min(os.cpu_count() or 1, _MAX_THREADS)
        self._load_seconds = load_seconds
        self._state = state
        self._lock = asyncio.Lock()
        self._child: _ModelProcess | None = None
        self._base_url = ""

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    async def start(self) -> str:
        """Start the model if needed and return its base URL, such as `http://127.0.0.1:40000/v1`.

        Waits until the model is loaded, without blocking the event loop. Cancelling stops the load. Raises
        EmbeddedModelError.
        """
        # A second load at the same time would need twice the memory.
        async with self._lock:
            if self.pid is None:
                await self._discard()
                self._check()
                self._child, self._base_url = await self._load()
                if self._state is not None:
                    await self._state.restore(self._base_url, self.api_key)
            return self._base_url

    async def explain_loss(self) -> str:
        """Return a sentence that says why a request got no answer."""
        child = self._child
        if child is None:
            return _("{model} was stopped while it was working: try /retry.", model=self.model.name)
        with contextlib.suppress(subprocess.TimeoutExpired):  # Connections close a moment before the process exits.
            await asyncio.to_thread(child.process.wait, _DEATH_SECONDS)
        status = child.process.returncode
        if status is None:
            return _(
                "{model} closed the connection without an answer, but is still running: try /retry.",
                model=self.model.name,
            )
        if reason := explain_engine_failure(status, ""):
            return reason
        if status == -signal.SIGKILL and child.was_killed_for_memory:
            return self._explain_no_memory()
        if _OUT_OF_MEMORY.search(child.read_log_tail()):
            return self._explain_no_memory()
        if status == -signal.SIGKILL:
            return _(
                "{model} was killed by the system or by another program: /retry starts it again.", model=self.model.name
            )
        how = signal.strsignal(-status) if status < 0 else _("status {status}", status=status)
        return _(
            "{model} crashed ({how}): /retry starts it again; if that happens often, choose another model with"
            " `mneme setup`.",
            model=self.model.name,
            how=how,
        )

    async def stop(self) -> None:
        """Stop the process, including a running request, and release its memory."""
        async with self._lock:
            if self._state is not None and self.pid is not None:
                await self._state.save(self._base_url, self.api_key)
            await self._discard()

    async def forget(self) -> None:
        if self._state is None:
            return
        async with self._lock:
            if self.pid is not None:
                await self._state.erase(self._base_url, self.api_key)
            self._state.forget()

    async def _discard(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            await asyncio.to_thread(child.end)

    def _check(self) -> None:
        """Raise EmbeddedModelError if the package or the weights are missing, before starting a process."""
        check_package()
        name, path = self.model.name, self.weights
        if not path.is_file():
            raise EmbeddedModelError(
                for_owner(
                    N_("The weights of {model} are not at {path}: download them with `mneme model pull`."),
                    NOT_SET_UP,
                    model=name,
                    path=path,
                )
            )
        size = path.stat().st_size
        if size != self.model.size_bytes:
            raise EmbeddedModelError(
                for_owner(
                    N_("{path} has {size} bytes, but {model} has {wanted}: download it again with `mneme model pull`."),
                    NOT_SET_UP,
                    path=path,
                    size=size,
                    wanted=self.model.size_bytes,
                    model=name,
                )
            )

    async def _load(self) -> tuple[_ModelProcess, str]:
        child = _ModelProcess()
        try:
            answer = await asyncio.wait_for(asyncio.to_thread(child.ask, self._build_settings()), self._load_seconds)
            if "base_url" in answer:
                return child, answer["base_url"]
            # The process exits after an error, and only then its log is complete.
            await asyncio.to_thread(child.process.wait)
            raise EmbeddedModelError(self._explain_load_failure(child, answer.get("error")))
        except BaseException as error:
            child.process.kill()
            child.end()
            if isinstance(error, TimeoutError):
                raise EmbeddedModelError(
                    _(
                        "{model} was not loaded within {seconds} seconds: try again when the machine is less busy, or"
                        " choose a smaller model with `mneme setup`.",
                        model=self.model.name,
                        seconds=f"{self._load_seconds:g}",
                    )
                ) from None
            raise

    def _explain_no_memory(self) -> str:
        return _(
            "There is not enough memory for {model}, which needs about {size} GB: free some, or choose a smaller model"
            " with `mneme setup`.",
            model=self.model.name,
            size=f"{self.model.resident_bytes / 1e9:.1f}",
        )

    def _build_settings(self) -> dict[str, str | int | None]:
        template = self.model.chat_template
        return {
            "weights": str(self.weights),
            "alias": self.model.name,
            "api_key": self.api_key,
            "n_ctx": self.model.n_ctx,
            "max_output_tokens": self.model.max_output_tokens,
            "threads": self._threads,
            "chat_template": None if template is None else read_chat_template(template),
            "state_folder": None if self._state is None else str(self._state.folder),
        }

    def _explain_load_failure(self, child: _ModelProcess, error: str | None) -> str:
        log, status = child.read_log_tail(), child.process.returncode
        if known_reason := explain_engine_failure(status, error or ""):
            return known_reason
        if status == -signal.SIGKILL or _OUT_OF_MEMORY.search(log):
            return self._explain_no_memory()
        logged = _LOGGED_ERROR.search(log)
        reason = logged.group(1) if logged else error or _("its process ended with status {status}", status=status)
        return for_owner(
            N_(
                "{model} couldn't be loaded from {path} ({reason}): check the file, and if it is damaged, download it"
                " again with `mneme model pull`."
            ),
            NOT_SET_UP,
            model=self.model.name,
            path=self.weights,
            reason=reason.strip().rstrip("."),
        )


def read_chat_template(name: str) -> str:
    return (files("config") / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
