"""Skills that attack the program that reads their front matter."""

from __future__ import annotations

from itertools import pairwise


def create_skill(matter: str) -> str:
    """Return a SKILL.md with more lines in its front matter."""
    return f"---\nname: trains\ndescription: Looks up trains.\n{matter}\n---\n"


def create_aliases(levels: int) -> str:
    """Return YAML in which each level repeats the one before nine times."""
    names = [f"a{level}" for level in range(levels)]
    lines = [f"{name}: &{name} [{', '.join([f'*{former}'] * 9)}]" for former, name in pairwise(names)]
    return "\n".join(["a0: &a0 [x]", *lines])


def create_hostile_skills() -> dict[str, str]:
    """Return hostile texts of a SKILL.md by name."""
    return {
        "aliases": create_skill(create_aliases(9)),
        "anchor": create_skill("a: &a b"),
        "alias": create_skill("a: *a"),
        "lines": create_skill("a: b\n" * 300_000),
        "digits": create_skill("a: " + "9" * 200_000),
        "lists": create_skill("a: " + "[" * 200),
        "maps": create_skill("a: " + "{a: " * 200),
        "key": create_skill("? [a]\n: b"),
        "name": f"---\nname: {'9' * 6_000}\ndescription: x\n---\n",
        "repeated": "---\nname: &a trains\ndescription: *a\n---\n",
        "type": "---\nname: {a: b}\ndescription: x\n---\n",
        "half": '---\nname: "trains\\ud83d"\ndescription: x\n---\n',
    }
