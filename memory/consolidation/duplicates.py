"""Which memories say the same. A merge hides one of them, so only what is sure counts: the same words in one order."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from memory.text.naming import name_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.store.entry import Entry

_WORD = re.compile(r"[-−]?\d+(?:[.,:]\d+)*|[^\W\d_]+|[+#$€£¥₴₽%°]")
# words that come and go without a change of what is said: "The user likes tea", "Likes tea"
_FILLERS = frozenset({"a", "an", "the", "user"})


def duplicates(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Groups of entries that say the same, in the order in which they came; each entry in one group at most.

    The same: of one kind, scope and trust, about one subject where they have any, and the same words, numbers and signs
    in the same order, whatever their case and the marks between them. Neither endings nor order may differ: "Anna
    worked", "Flies to Kyiv from Lviv" say something else than "Anna works", "Flies from Kyiv to Lviv".
    """
    alike: defaultdict[object, list[list[Entry]]] = defaultdict(list)
    for entry in entries:
        words = tuple(word for word in _WORD.findall(name_key(entry.content)) if word not in _FILLERS)
        groups = alike[entry.kind, entry.scope, entry.trusted, words] if words else []
        for group in groups:
            if len({item.subject for item in (*group, entry) if item.subject}) <= 1:
                group.append(entry)
                break
        else:
            groups.append([entry])
    return [group for groups in alike.values() for group in groups if len(group) > 1]
