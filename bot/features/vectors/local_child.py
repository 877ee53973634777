"""A script that runs the local model of `bot.features.vectors.embedders` in a child process.

It imports nothing of Mneme. The first line of its standard input is a JSON object with the paths of the `engine` (a
shared library) and of the `model`, and the model's `digest` (SHA-256). Each further line is a request
``{"embed": TEXT, "query": BOOL}``. The answer is one line on standard output: ``{"vector": BASE64}`` (float32) or
``{"error": ...}``. The model is loaded at the first request. The process exits when its input ends.
"""

import base64
import contextlib
import ctypes
import hashlib
import json
import os
import signal
import sys
import unicodedata
from pathlib import Path
from typing import Any

MAX_TEXT_BYTES = 600
"""The rest of a longer text is ignored, so that a turn waits at most a second. This is about 130 tokens in English and
Chinese, and 80 in Russian."""


class Model:
    def __init__(self, engine: str, model: str, digest: str) -> None:
        with Path(model).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise ValueError(f"{model} is the wrong file")
        library = ctypes.CDLL(engine)
        library.e5_load.restype, library.e5_load.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        library.e5_dim.restype, library.e5_dim.argtypes = ctypes.c_int, [ctypes.c_void_p]
        numbers = ctypes.POINTER(ctypes.c_float)
        library.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, numbers]
        self._library = library
        self._model = library.e5_load(model.encode())
        if not self._model:
            raise ValueError(f"{model} can't be loaded")
        self._length: int = library.e5_dim(self._model)

    def compute_vector(self, text: str, *, is_query: bool) -> str:
        numbers = (ctypes.c_float * self._length)()
        self._library.e5_embed(self._model, normalise(text), int(is_query), numbers)
        return base64.b64encode(bytes(numbers)).decode()


def normalise(text: str) -> bytes:
    """Normalise and shorten a text for the engine."""
    # The engine's own normalisation has room for four characters per byte, but U+FDFA turns three bytes into eighteen
    # characters.
    normal = unicodedata.normalize("NFKC", text.replace("\0", " ")).encode("utf-8", "replace")
    return normal[:MAX_TEXT_BYTES].decode("utf-8", "ignore").encode()


def main() -> None:
    channel = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Native code may print to standard output.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)  # The bot ends this process itself.
    with contextlib.suppress(OSError):
        # If memory runs out, the kernel should kill this process rather than the bot.
        Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")
    with os.fdopen(channel, "wb", buffering=0) as answers:
        files: dict[str, str] = json.loads(sys.stdin.readline())
        model: Model | None = None
        for line in sys.stdin:
            answer: dict[str, Any]
            try:
                model = model or Model(**files)
                request = json.loads(line)
                answer = {"vector": model.compute_vector(request["embed"], is_query=request["query"])}
            except Exception as error:  # noqa: BLE001  # Native code may raise anything.
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
