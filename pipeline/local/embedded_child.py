"""The process that holds the embedded model: llama.cpp's server, run as a script by ``pipeline.local.embedded``.

It is started by its path and imports nothing of Mneme, so it works from any directory. The first line of its
standard input is a JSON object with the settings (among them the API key, which other users could read among
the arguments); it answers on standard output with one JSON line, ``{"base_url": ...}`` or ``{"error": ...}``.
It then lives until its standard input ends, which the system sees to even when the parent is killed.
"""

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

# tokens of a prompt evaluated in one go. That a request was given up is noticed only between two batches: the usual
# 2048 go on for a minute, 64 for two seconds at most; they cost 3 % of the speed (1.5B, one core).
_BATCH = 64

# memory for the evaluated prompts of other conversations; llama.cpp's own default is 8 GiB
_PROMPT_CACHE_MIB = 512


def main() -> None:
    answer = _own_answer_channel()
    for stop in (signal.SIGINT, signal.SIGTERM):
        # A service manager signals every process: the bot first finishes its turn, and needs the model.
        signal.signal(stop, signal.SIG_IGN)
    _be_the_first_to_go_without_memory()
    settings = json.loads(sys.stdin.readline())
    try:
        server = _serve(settings)
    except Exception as error:  # noqa: BLE001 - native code raises what it likes; the parent words it for the user
        _answer(answer, error=str(error) or type(error).__name__)
        sys.exit(1)  # the engine writes its log in a thread, and says there what is wrong: a hard end would lose it
    _answer(answer, base_url=f"{server.listening_address}/v1")
    sys.stdin.read()
    os._exit(0)  # nothing to save, and a request may be running that a clean end would wait for


def _serve(settings: dict[str, Any]) -> Any:  # Any: the library ships no types
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # a free one
    params.api_keys = [settings["api_key"]]
    params.n_parallel = 1
    params.n_ctx = settings["n_ctx"]
    params.n_predict = settings["max_output_tokens"]  # a small model may not find an end by itself
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.n_gpu_layers = 0
    params.n_batch = params.n_ubatch = _BATCH
    params.cache_prompt = True
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.fit_params = False  # n_ctx is meant as it stands
    params.use_jinja = True
    # A small model on a processor would think for minutes; templates that know no thinking ignore it.
    params.default_template_kwargs = {"enable_thinking": "false"}
    if settings["chat_template"] is not None:
        params.chat_template = settings["chat_template"]
    if settings["state_folder"] is not None:
        params.slot_save_path = f"{settings['state_folder']}/"
    params.ui = params.endpoint_slots = False
    params.verbosity = 1  # errors only
    return xllamacpp.Server(params)


def _own_answer_channel() -> int:
    """Keep standard output for the one answer and send what native code may print there to standard error."""
    channel = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel


def _answer(channel: int, **answer: str) -> None:
    os.write(channel, json.dumps(answer).encode() + b"\n")
    os.close(channel)


def _be_the_first_to_go_without_memory() -> None:
    """Tell Linux to end this process rather than the bot when memory runs out; elsewhere do nothing."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")


if __name__ == "__main__":
    main()
