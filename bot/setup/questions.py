"""Questions to a person at the terminal beyond those that typer has, and writing the answers into `.env`."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer
from dotenv import dotenv_values, set_key, unset_key
from pydantic import HttpUrl, TypeAdapter, ValidationError
from rich.console import Console

from config.numbers import parse_number

if TYPE_CHECKING:
    from pathlib import Path


def say(text: str) -> None:
    """Tell the person something, broken between words at a terminal of any width."""
    console = Console()
    console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def ask_secret(question: str) -> str:
    """An answer that is not echoed; empty for none. Where there is no terminal it is read like any other."""
    hidden = sys.stdin.isatty()
    return str(typer.prompt(question, default="", show_default=False, hide_input=hidden)).strip()


def ask_url(question: str) -> str:
    """An address of a server, asked for until it can be one; empty for none."""
    while True:
        url = whole_url(typer.prompt(question, default="", show_default=False))
        if url is not None:
            return url
        say("That is no address: write it like http://localhost:8080/v1 or https://api.example.org/v1.")


def whole_url(text: str) -> str | None:
    """`text` with the scheme that it lacks and without what follows the base; None where it can't be an address."""
    url = re.sub(r"(/chat/completions)?/*$", "", text.strip())
    if not url:
        return ""
    if url.endswith(":"):  # nothing but a scheme
        return None
    if "://" not in url:
        url = f"{'http' if _is_near(urlsplit(f'//{url}').hostname or '') else 'https'}://{url}"
    try:
        TypeAdapter(HttpUrl).validate_python(url)
    except ValidationError:
        return None
    return url


def _is_near(host: str) -> bool:
    """Whether a host is this machine or one beside it, where servers speak plain HTTP."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal"))


def ask_number(question: str, highest: int) -> int:
    """A number from 1 to `highest`; 1 without an answer."""
    while True:
        number = parse_number(str(typer.prompt(question, default="1")).strip())
        if number is not None and 1 <= number <= highest:
            return number
        say(f"A number from 1 to {highest} is needed.")


def ask_one_of(question: str, names: list[str], most: int = 20) -> str:
    """One of `names`, by its number or as it is written; without names, and for one that is not listed, any text."""
    for number, name in enumerate(names[:most], 1):
        say(f"  {number:2} {name}")
    if names[most:]:
        say(f"     and {len(names) - most} more, by their names")
    default = names[0] if len(names) == 1 else None
    answer = str(typer.prompt(f"{question} (number or name)" if names else question, default=default)).strip()
    at = parse_number(answer) or 0
    return names[at - 1] if 1 <= at <= min(len(names), most) else answer


def write_settings(env_file: Path, **values: str) -> None:
    """Write settings into `env_file`, which only its owner may read; an empty value removes the setting.

    All of them or none: whatever interrupts this leaves the file as it was.
    """
    target = env_file.resolve()  # a link stays one
    # beside the target: a rename is atomic only within one file system
    draft = target.with_name(f"{target.name}.{os.getpid()}.draft")
    try:
        draft.touch(mode=0o600)
        if target.exists():
            shutil.copyfile(target, draft)
        present = dotenv_values(draft, encoding="utf-8")
        for name, value in values.items():
            if value:
                set_key(draft, name, value, encoding="utf-8")
            elif name in present:
                unset_key(draft, name, encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
