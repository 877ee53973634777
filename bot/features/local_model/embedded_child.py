"""A script that runs the embedded model in a child process: llama.cpp's server.

It imports nothing of Mneme, so it works from any directory. The first line of its standard input is a JSON object with
the settings, including the API key, which other users could read in the arguments. It answers on standard output with
one JSON line, ``{"base_url": ...}`` or ``{"error": ...}``. It exits when its standard input ends, which happens even if
the parent is killed.
"""

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

# A cancelled request is noticed only between two batches. The default of 2048 tokens can take a minute, 64 tokens take
# two seconds at most. They cost 3 % of the speed (1.5B, one core).
_BATCH_TOKENS = 64

# Memory for the evaluated prompts of other conversations. The default is 8 GiB.
_PROMPT_CACHE_MIB = 512


def main() -> None:
    answer = _open_answer_channel()
    for stop in (signal.SIGINT, signal.SIGTERM):
        # A service manager signals every process, but the bot still needs the model to finish its turn.
        signal.signal(stop, signal.SIG_IGN)
    _raise_oom_score()
    settings = json.loads(sys.stdin.readline())
    try:
        server = _serve(settings)
    except Exception as error:  # noqa: BLE001  # Native code may raise anything. The parent explains it to the user.
        _answer(answer, error=str(error) or type(error).__name__)
        sys.exit(1)  # Not os._exit(): the engine's thread still has to write its log, which has the reason.
    _answer(answer, base_url=f"{server.listening_address}/v1")
    sys.stdin.read()
    os._exit(0)  # There is nothing to save, and a clean exit would wait for a running request.


def _serve(settings: dict[str, Any]) -> Any:  # The library has no types.
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # Any free port.
    params.api_keys = [settings["api_key"]]
    params.n_parallel = 1
    params.n_ctx = settings["n_ctx"]
    params.n_predict = settings["max_output_tokens"]  # A small model may never stop otherwise.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.n_gpu_layers = 0
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cache_prompt = True
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.fit_params = False  # Don't reduce n_ctx to fit the memory.
    params.use_jinja = True
    # A small model on a processor would think for minutes. Templates without thinking ignore this.
    params.default_template_kwargs = {"enable_thinking": "false"}
    if settings["chat_template"] is not None:
        params.chat_template = settings["chat_template"]
    if settings["state_folder"] is not None:
        params.slot_save_path = f"{settings['state_folder']}/"
    params.ui = params.endpoint_slots = False
    params.verbosity = 1  # Errors only.
    return xllamacpp.Server(params)


def _open_answer_channel() -> int:
    """Reserve standard output for the answer, and redirect the output of native code to standard error."""
    channel = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel


def _answer(channel: int, **answer: str) -> None:
    os.write(channel, json.dumps(answer).encode() + b"\n")
    os.close(channel)


def _raise_oom_score() -> None:
    """Make Linux kill this process rather than the bot when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")


if __name__ == "__main__":
    main()
