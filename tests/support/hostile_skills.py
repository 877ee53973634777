"""Skills that attack the program that reads their front matter."""

from __future__ import annotations

from itertools import pairwise


def skill_with(matter: str) -> str:
    """Return a SKILL.md with more lines in its front matter."""
    return f"---\nname: trains\ndescription: Looks up trains.\n{matter}\n---\n"


def aliases(levels: int) -> str:
    """Return YAML in which each level repeats the one before nine times."""
    names = [f"a{level}" for level in range(levels)]
    lines = [f"{name}: &{name} [{', '.join([f'*{former}'] * 9)}]" for former, name in pairwise(names)]
    return "\n".join(["a0: &a0 [x]", *lines])


def crafted_skills() -> dict[str, str]:
    """Return hostile texts of a SKILL.md by name."""
    return {
        "aliases": skill_with(aliases(9)),
        "anchor": skill_with("a: &a b"),
        "alias": skill_with("a: *a"),
        "lines": skill_with("a: b\n" * 300_000),
        "digits": skill_with("a: " + "9" * 200_000),
        "lists": skill_with("a: " + "[" * 200),
        "maps": skill_with("a: " + "{a: " * 200),
        "key": skill_with("? [a]\n: b"),
        "name": f"---\nname: {'9' * 6_000}\ndescription: x\n---\n",
        "repeated": "---\nname: &a trains\ndescription: *a\n---\n",
        "type": "---\nname: {a: b}\ndescription: x\n---\n",
        "half": '---\nname: "trains\\ud83d"\ndescription: x\n---\n',
    }
