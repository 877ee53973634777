"""The process that holds the small model of `pipeline.embedding.local_models`, run as a script by its path.

It imports nothing of Mneme. The first line of its standard input is a JSON object that says where the model's files are
and what their SHA-256 must be. Each further line is a request, answered by one line on standard output: ``{"embed":
TEXT}`` by ``{"vector": BASE64}`` (float32), and whatever goes wrong by ``{"error": ...}``. The model is loaded at the
first request. The process lives until its input ends.
"""

import base64
import contextlib
import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

LONGEST_TEXT = 256
"""Tokens of a text that count: attention grows with their square, and messages are short."""


class Model:
    """An ONNX model with its tokenizer. One text at a time: with int8 weights its numbers depend on the batch."""

    def __init__(self, files: dict[str, str]) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        for path, digest in files.items():
            if hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest:
                raise ValueError(f"{path} is not the file that it should be")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # mostly nobody waits for vectors
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        weights, tokenizer = files
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST_TEXT)

    def vector(self, text: str) -> str:
        """The vector of a text, in base64."""
        import numpy

        read = self._tokenizer.encode(text)
        inputs = {"input_ids": read.ids, "attention_mask": read.attention_mask, "token_type_ids": read.type_ids}
        output = self._session.run(None, {name: numpy.array([ids], numpy.int64) for name, ids in inputs.items()})[0]
        of_text = output[0, 0]  # that of [CLS] stands for the text
        return base64.b64encode(of_text.astype("<f4").tobytes()).decode()


def main() -> None:
    """Answer until standard input ends."""
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
                model = model or Model(files)
                answer = {"vector": model.vector(json.loads(line)["embed"])}
            except Exception as error:  # noqa: BLE001 - native code raises what it likes
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
