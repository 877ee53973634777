"""A ChatGPT export with years of random talk, made of word sequences from given texts.

It uses the same words as the texts without repeating their content, which makes it the hardest history to search in.
"""

from __future__ import annotations

import itertools
import json
import random
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.support import exports

LENGTHS = range(6, 45)
"""Number of words in a message."""


def write_history(file: Path, texts: Iterable[str], messages: int) -> Path:
    """Write a zip file with conversations of `messages` messages in total, the same at every run."""
    follow: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        words = text.split()
        for word, after in itertools.pairwise(words):
            follow[word].append(after)
    source, begin = random.Random(1), [*follow]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as part:
        for first in range(0, messages, exports.PER_CONVERSATION):
            conversation = exports.create_chatgpt_conversation(first, exports.PER_CONVERSATION)
            for number in range(first, first + exports.PER_CONVERSATION):
                parts = conversation["mapping"][f"m{number}"]["message"]["content"]["parts"]
                parts[0] = _generate_message(source, follow, begin)
            part.write((b"," if first else b"[") + json.dumps(conversation).encode())
        part.write(b"]")
    return file


def _generate_message(source: random.Random, follow: dict[str, list[str]], begin: Sequence[str]) -> str:
    words = [source.choice(begin)]
    for _ in range(source.choice(LENGTHS) - 1):
        words.append(source.choice(follow.get(words[-1]) or begin))
    return " ".join(words)
