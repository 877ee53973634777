"""The process that holds the small model of `pipeline.embedding.embedders`, run as a script by its path.

It imports nothing of Mneme. The first line of its standard input is a JSON object with the paths of the `engine` (a
shared library) and of the `model`, and the `digest` (SHA-256) that the latter must have. Each further line is a
request, answered by one line on standard output: ``{"embed": TEXT, "query": BOOL}`` by ``{"vector": BASE64}``
(float32), and whatever goes wrong by ``{"error": ...}``. The model is loaded at the first request. The process lives
until its input ends.
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

LONGEST_TEXT = 600
"""Bytes of a text that count: some 130 tokens in English and Chinese, 80 in Russian. A turn waits a second at most."""


class Model:
    """The engine with its model. What is a question and what may answer one is told to it by a word in front."""

    def __init__(self, engine: str, model: str, digest: str) -> None:
        with Path(model).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise ValueError(f"{model} is not the file that it should be")
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

    def vector(self, text: str, *, is_query: bool) -> str:
        numbers = (ctypes.c_float * self._length)()
        self._library.e5_embed(self._model, readable(text), int(is_query), numbers)
        return base64.b64encode(bytes(numbers)).decode()


def readable(text: str) -> bytes:
    """As much of a text as the engine may be given, in the form that it may be given."""
    # normalised here, since the engine has room for four characters from each byte, and U+FDFA makes eighteen from
    # three
    normal = unicodedata.normalize("NFKC", text.replace("\0", " ")).encode("utf-8", "replace")
    return normal[:LONGEST_TEXT].decode("utf-8", "ignore").encode()


def main() -> None:
    channel = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what native code may print is no answer
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)  # the bot ends this process when it is done
    with contextlib.suppress(OSError):  # rather this process than the bot, when memory runs out
        Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")
    with os.fdopen(channel, "wb", buffering=0) as answers:
        files: dict[str, str] = json.loads(sys.stdin.readline())
        model: Model | None = None
        for line in sys.stdin:
            answer: dict[str, Any]
            try:
                model = model or Model(**files)
                request = json.loads(line)
                answer = {"vector": model.vector(request["embed"], is_query=request["query"])}
            except Exception as error:  # noqa: BLE001 - native code raises what it likes
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
