"""Questions at the terminal in addition to typer's, and writing of the answers to `.env`."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import typer
from dotenv import dotenv_values, set_key, unset_key
from pydantic import HttpUrl, TypeAdapter, ValidationError
from rich.console import Console

from config.numbers import parse_number


def say(text: str) -> None:
    """Print a text, wrapped at word boundaries if this is a terminal."""
    console = Console()
    console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def can_change_answers() -> bool:
    """Return whether to ask again for settings that are already set. A script's input has no answers for them."""
    return sys.stdin.isatty()


def ask_secret(question: str) -> str:
    """Ask for a secret without showing it. Without a terminal, read it like other input."""
    hidden = sys.stdin.isatty()
    return str(typer.prompt(question, default="", show_default=False, hide_input=hidden)).strip()


def ask_url(question: str, default: str = "") -> str:
    """Ask for a server's address until it is valid. An empty string means none."""
    while True:
        url = complete_url(typer.prompt(question, default=default, show_default=bool(default)))
        if url is not None:
            return url
        say("That isn't an address: write it like http://localhost:8080/v1 or https://api.example.org/v1.")


def complete_url(text: str) -> str | None:
    """Add a missing scheme to a URL, and remove the part behind its base. Return None for an invalid URL."""
    url = re.sub(r"(/chat/completions)?/*$", "", text.strip())
    if not url:
        return ""
    if url.endswith(":"):
        return None
    if "://" not in url:
        url = f"{'http' if _is_local(urlsplit(f'//{url}').hostname or '') else 'https'}://{url}"
    try:
        TypeAdapter(HttpUrl).validate_python(url)
    except ValidationError:
        return None
    return url


def _is_local(host: str) -> bool:
    """Return True if a host is on this machine or a local network, where servers use plain HTTP."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal"))


def ask_number(question: str, highest: int, default: int = 1) -> int:
    while True:
        number = parse_number(str(typer.prompt(question, default=str(default))).strip())
        if number is not None and 1 <= number <= highest:
            return number
        say(f"Enter a number from 1 to {highest}.")


def ask_one_of(question: str, names: list[str], max_listed: int = 20) -> str:
    """Ask for one of `names`, by number or name. Any other text is accepted too."""
    for number, name in enumerate(names[:max_listed], 1):
        say(f"  {number:2} {name}")
    if names[max_listed:]:
        say(f"     and {len(names) - max_listed} more: enter the name")
    default = names[0] if len(names) == 1 else None
    answer = str(typer.prompt(f"{question} (number or name)" if names else question, default=default)).strip()
    at = parse_number(answer) or 0
    return names[at - 1] if 1 <= at <= min(len(names), max_listed) else answer


def write_settings(env_file: Path, **values: str) -> None:
    """Write settings into `env_file`, which only its owner may read. An empty value removes the setting.

    The file is replaced atomically, so an interruption leaves it unchanged.
    """
    target = env_file.resolve()  # Keep a symbolic link
    # In the same folder, since a rename is atomic only within one file system
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
