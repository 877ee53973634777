"""The embedded model: a model on this machine behind the same kind of interface as a hosted one.

llama.cpp's server runs in a child process, not in the bot's own. Loading a model holds Python's global lock
for seconds, which would stop the whole bot; a crash in native code or the system's out-of-memory killer takes
the child only; stopping gives all memory back at once; and what native code prints stays out of the bot's
output. The child reads its standard input and ends when that ends, so it cannot outlive even a killed bot.
"""

import asyncio
import contextlib
import os
import re
import secrets
import signal
import subprocess
import tempfile
from pathlib import Path

import httpx
import structlog

from config.models import EmbeddedModel, chat_template
from config.texts import _
from pipeline.child import JsonChild
from pipeline.local.engine import EmbeddedModelError, check_package, engine_failure

_CHILD = Path(__file__).with_name("embedded_child.py")
_MOST_THREADS = 4
log = structlog.get_logger(__name__)

# how long keeping or taking up what was read may take; the engine does neither while it answers
_STATE_SECONDS = 5.0
_STOP_SECONDS = 5.0
_DEATH_SECONDS = 2.0
_MEMORY_EVENTS = Path("/proc/vmstat")
_LOG_TAIL_BYTES = 8000
_LOGGED_ERROR = re.compile(r"^[\d.]+ E (?:\S+: )?(.+)$", re.MULTILINE)
_OUT_OF_MEMORY = re.compile(r"insufficient memory|failed to allocate|std::bad_alloc")


def _killed_for_memory() -> int:
    """How many processes the system has killed since its start because memory ran out; 0 where it does not say."""
    with contextlib.suppress(OSError):
        if match := re.search(r"^oom_kill (\d+)$", _MEMORY_EVENTS.read_text(encoding="ascii"), re.MULTILINE):
            return int(match[1])
    return 0


class _ModelProcess(JsonChild):
    """The process that holds the model, with the end of its log and what is to be known of its death."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        super().__init__(_CHILD, log=self._log)
        self._killed_before = _killed_for_memory()

    @property
    def was_killed_for_memory(self) -> bool:
        return _killed_for_memory() > self._killed_before

    def log_tail(self) -> str:
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
        return self._log.read().decode(errors="replace")

    def end(self, seconds: float = _STOP_SECONDS) -> None:
        super().end(seconds)
        self._log.close()


class PromptState:
    """What the embedded model has read so far, kept from one run to the next: the state of its one slot.

    Reading a prompt again is most of what the first answer after a start takes. The file is there only while the model
    is not running; it holds the last conversation in the engine's own form, so only its owner may read it, and what
    deletes everything deletes it too. `folder` is where the engine is told to keep such files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._path = folder / name

    async def save(self, base_url: str, api_key: str) -> None:
        """Keep what the slot holds. A failure costs time at the next start and nothing else."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # made before the engine writes it, so that nobody else may read it
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
    """A local model that is started when it is first needed and serves chat completions on a loopback port.

    ``start`` may be called before every request: it costs nothing while the model runs, and starts it again
    if it has died. ``api_key`` is a random token that every request must carry, so that no other user of the
    machine can use the port.

    Closing a request's connection stops the work on it within about two seconds. With openai that means closing
    the stream: its headers come at once, so a task that is cancelled later already holds one, and an unclosed
    stream is worked on to its end. The server now and then closes a connection just after a streamed answer, so
    a client must be free to repeat a request that got no response (openai's ``max_retries`` of 1 or more).

    ``threads`` is the number of cores to compute with (default: all, at most 4), ``load_seconds`` how long loading
    may take, ``state`` where what it has read is kept while it does not run (None: nowhere). One request is answered
    at a time: each more would take the memory of a whole context.
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
        self._threads = threads if threads is not None else min(os.cpu_count() or 1, _MOST_THREADS)
        self._load_seconds = load_seconds
        self._state = state
        self._lock = asyncio.Lock()
        self._child: _ModelProcess | None = None
        self._base_url = ""

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    async def start(self) -> str:
        """Have the model running and return its base URL, such as ``http://127.0.0.1:40000/v1``.

        Takes as long as loading does, without blocking the event loop; being cancelled ends a load under way.
        EmbeddedModelError says what is missing or what went wrong.
        """
        # one load at a time: a second one would take the memory twice
        async with self._lock:
            if self.pid is None:
                await self._discard()
                self._check()
                self._child, self._base_url = await self._load()
                if self._state is not None:
                    await self._state.restore(self._base_url, self.api_key)
            return self._base_url

    async def why_lost(self) -> str:
        """Why a request got no answer, in one sentence: what became of the model's process."""
        child = self._child
        if child is None:
            return _("{model} was stopped while it was at work: try /retry.", model=self.model.name)
        with contextlib.suppress(subprocess.TimeoutExpired):  # its connections end a moment before it does
            await asyncio.to_thread(child.process.wait, _DEATH_SECONDS)
        status = child.process.returncode
        if status is None:
            return _("{model} hung up without an answer, but still runs: try /retry.", model=self.model.name)
        if lacking := engine_failure(status, ""):
            return lacking
        if status == -signal.SIGKILL and child.was_killed_for_memory:
            return self._no_memory()
        if _OUT_OF_MEMORY.search(child.log_tail()):
            return self._no_memory()
        if status == -signal.SIGKILL:
            return _("The process of {model} was killed from outside: /retry starts it again.", model=self.model.name)
        how = signal.strsignal(-status) if status < 0 else _("status {status}", status=status)
        return _(
            "{model} crashed ({how}): /retry starts it again; if that happens often, choose another model with"
            " `mneme setup`.",
            model=self.model.name,
            how=how,
        )

    async def stop(self) -> None:
        """End the model's process, with whatever request it is answering, and give its memory back."""
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
        """Find what can be known to be missing before a process is started for it."""
        check_package()
        name, path = self.model.name, self.weights
        if not path.is_file():
            raise EmbeddedModelError(
                _(
                    "The weights of {model} are not at {path}: fetch them with `mneme model pull`.",
                    model=name,
                    path=path,
                )
            )
        size = path.stat().st_size
        if size != self.model.size_bytes:
            raise EmbeddedModelError(
                _(
                    "{path} has {size} bytes instead of the {wanted} of {model}: fetch it afresh with"
                    " `mneme model pull`.",
                    path=path,
                    size=size,
                    wanted=self.model.size_bytes,
                    model=name,
                )
            )

    async def _load(self) -> tuple[_ModelProcess, str]:
        child = _ModelProcess()
        try:
            answer = await asyncio.wait_for(asyncio.to_thread(child.ask, self._settings()), self._load_seconds)
            if "base_url" in answer:
                return child, answer["base_url"]
            # it ends by itself, and only then its log is whole
            await asyncio.to_thread(child.process.wait)
            raise EmbeddedModelError(self._why_not_loaded(child, answer.get("error")))
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

    def _no_memory(self) -> str:
        return _(
            "There is not enough memory for {model}, which takes about {size} GB: free some, or choose a smaller model"
            " with `mneme setup`.",
            model=self.model.name,
            size=f"{self.model.resident_bytes / 1e9:.1f}",
        )

    def _settings(self) -> dict[str, str | int | None]:
        template = self.model.chat_template
        return {
            "weights": str(self.weights),
            "alias": self.model.name,
            "api_key": self.api_key,
            "n_ctx": self.model.n_ctx,
            "max_output_tokens": self.model.max_output_tokens,
            "threads": self._threads,
            "chat_template": None if template is None else chat_template(template),
            "state_folder": None if self._state is None else str(self._state.folder),
        }

    def _why_not_loaded(self, child: _ModelProcess, error: str | None) -> str:
        log, status = child.log_tail(), child.process.returncode
        if lacking := engine_failure(status, error or ""):
            return lacking
        if status == -signal.SIGKILL or _OUT_OF_MEMORY.search(log):
            return self._no_memory()
        logged = _LOGGED_ERROR.search(log)
        reason = logged.group(1) if logged else error or _("its process ended with status {status}", status=status)
        return _(
            "{model} could not be loaded from {path} ({reason}): check the file, and fetch it afresh if it is damaged,"
            " with `mneme model pull`.",
            model=self.model.name,
            path=self.weights,
            reason=reason.strip().rstrip("."),
        )
