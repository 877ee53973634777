"""The process in which a PDF is read: run as a script, it imports nothing of Mneme and knows no secret.

A hostile file can keep a reader busy for ever or fill the memory, which only the end of a process stops. Standard input
is the file; standard output gets one JSON object: ``{"pages": [...], "count": 30}`` or ``{"error": "locked"}``. The
arguments are the most pages, the most characters, seconds and bytes that it may take.
"""

import contextlib
import io
import json
import logging
import os
import resource
import sys
from pathlib import Path


def main() -> None:
    most_pages, most_characters, seconds, size = map(int, sys.argv[1:])
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")  # it goes first where memory runs out
    with contextlib.suppress(OSError):
        os.nice(10)  # whoever waits for an answer goes before
    for limit, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, size), (resource.RLIMIT_FSIZE, 0)):
        with contextlib.suppress(ValueError, OSError):  # not every system has, or permits, each of them
            resource.setrlimit(limit, (most, most))
    logging.disable(logging.CRITICAL)
    answer: dict[str, object]
    try:
        answer = _read(sys.stdin.buffer.read(), most_pages, most_characters)
    except Exception:  # noqa: BLE001 - whatever a broken file makes of the library
        answer = {"error": "broken"}
    sys.stdout.write(json.dumps(answer))


def _read(content: bytes, most_pages: int, most_characters: int) -> dict[str, object]:
    import pypdf
    from pypdf.errors import DependencyError

    reader = pypdf.PdfReader(io.BytesIO(content), strict=False)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "locked"}
        count = len(reader.pages)
    except DependencyError:  # a cipher that would need another library
        return {"error": "locked"}
    pages: list[str] = []
    for page in reader.pages[:most_pages]:
        try:
            text = page.extract_text()
        except Exception:  # noqa: BLE001 - one broken page among many
            text = ""
        pages.append(text[:most_characters])
        most_characters -= len(text)
        if most_characters <= 0:
            break
    return {"pages": pages, "count": count}


if __name__ == "__main__":
    main()
