"""The process that holds the small models of `pipeline.embedding.local_models`, run as a script by its path.

It imports nothing of Mneme. The first line of its standard input is a JSON object that says for each model where its
files are and what their SHA-256 must be. Each further line is a request, answered by one line on standard output:
``{"embed": TEXT}`` by ``{"vector": BASE64}`` (float32); ``{"rank": [QUESTION, TEXT, ...], "within": SECONDS}`` by
``{"scores": [...]}`` of the first texts, as many as were read in that time; and whatever goes wrong by
``{"error": ...}``. A model is loaded at its first request. It lives until its input ends.
"""

import base64
import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

LONGEST_TEXT = 256
"""Tokens of a text that count: attention grows with their square, and messages are short."""
LONGEST_PAIR = 96
"""Tokens of a question with a text: 20 pairs must be read while a turn waits."""
PAIR_THREADS = 2
"""Of as many cores as there are; vectors are made on one, since mostly nobody waits for them."""


class Model:
    """One ONNX model with its tokenizer. One text at a time: with int8 weights its numbers depend on the batch."""

    def __init__(self, files: dict[str, str], longest: int, threads: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        for path, digest in files.items():
            if hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest:
                raise ValueError(f"{path} is not the file that it should be")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        weights, tokenizer = files
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest)

    def run(self, text: str, other: str | None = None) -> Any:  # Any: what onnxruntime gives has no types
        """What the model says of a text, or of two."""
        import numpy

        read = self._tokenizer.encode(text, other)
        given = {"input_ids": read.ids, "attention_mask": read.attention_mask, "token_type_ids": read.type_ids}
        return self._session.run(None, {name: numpy.array([ids], numpy.int64) for name, ids in given.items()})[0]


class Models:
    """The models, each loaded when it is first asked."""

    def __init__(self, settings: dict[str, dict[str, str]]) -> None:
        self._settings = settings
        self._loaded: dict[str, Model] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        if "embed" in request:
            first = self._model("embed", LONGEST_TEXT, 1).run(request["embed"])[
                0, 0
            ]  # that of [CLS] stands for the text
            return {"vector": base64.b64encode(first.astype("<f4").tobytes()).decode()}
        question, *texts = request["rank"]
        end = time.monotonic() + request["within"]
        model = self._model("rank", LONGEST_PAIR, min(PAIR_THREADS, os.cpu_count() or 1))
        scores: list[float] = []
        for text in texts:
            if time.monotonic() >= end:
                break
            scores.append(float(model.run(question, text)[0, 0]))
        return {"scores": scores}

    def _model(self, name: str, longest: int, threads: int) -> Model:
        if name not in self._loaded:
            self._loaded[name] = Model(self._settings[name], longest, threads)
        return self._loaded[name]


def main() -> None:
    """Answer until standard input ends."""
    channel = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what native code may print is no answer
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)  # the bot ends this process when it is done
    with contextlib.suppress(OSError):  # rather this process than the bot, when memory runs out
        Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")
    with os.fdopen(channel, "wb", buffering=0) as answers:
        models = Models(json.loads(sys.stdin.readline()))
        for line in sys.stdin:
            try:
                answer = models.answer(json.loads(line))
            except Exception as error:  # noqa: BLE001 - native code raises what it likes
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
