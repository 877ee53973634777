"""A script that reads a PDF in a child process. It imports nothing of Mneme and has no access to secrets.

A hostile file can make a parser run forever or fill the memory, and only killing the process stops that. Standard input
is the file. Standard output gets one JSON object: ``{"pages": [...], "count": 30}`` or ``{"error": "locked"}``. The
arguments are the limits: pages, characters, seconds of processor time, and bytes of memory.
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
    max_pages, max_chars, seconds, size = map(int, sys.argv[1:])
    with contextlib.suppress(OSError):
        # If memory runs out, the kernel kills this process first.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    with contextlib.suppress(OSError):
        os.nice(10)
    for limit, value in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, size), (resource.RLIMIT_FSIZE, 0)):
        with contextlib.suppress(ValueError, OSError):  # Not every system supports every limit.
            resource.setrlimit(limit, (value, value))
    logging.disable(logging.CRITICAL)
    answer: dict[str, object]
    try:
        answer = _read(sys.stdin.buffer.read(), max_pages, max_chars)
    except Exception:  # noqa: BLE001  # The library may raise anything for a broken file.
        answer = {"error": "broken"}
    sys.stdout.write(json.dumps(answer))


def _read(content: bytes, max_pages: int, max_chars: int) -> dict[str, object]:
    import pypdf
    from pypdf.errors import DependencyError

    reader = pypdf.PdfReader(io.BytesIO(content), strict=False)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "locked"}
        count = len(reader.pages)
    except DependencyError:  # The cipher needs another library.
        return {"error": "locked"}
    pages: list[str] = []
    for page in reader.pages[:max_pages]:
        try:
            text = page.extract_text()
        except Exception:  # noqa: BLE001  # Other pages may be readable.
            text = ""
        pages.append(text[:max_chars])
        max_chars -= len(text)
        if max_chars <= 0:
            break
    return {"pages": pages, "count": count}


if __name__ == "__main__":
    main()
