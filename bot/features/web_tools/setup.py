"""The question of `mneme setup` for web search."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from bot.features.web_tools.search import check_packages
from bot.features.web_tools.settings import WebToolsSettings
from bot.setup.questions import say, write_settings
from config.errors import ConfigurationError
from config.loading import load_settings


def offer_web(env_file: Path) -> None:
    settings = load_settings(env_file)
    # An embedded model can handle only the tools of the memory
    if not settings.has_endpoint or not sys.stdin.isatty():
        return
    searches = settings.group(WebToolsSettings).web_search
    if not typer.confirm("Should the bot search the web and read pages?", default=searches):
        if searches:
            write_settings(env_file, WEB_SEARCH="false")
        return
    write_settings(env_file, WEB_SEARCH="true")
    try:
        check_packages()
    except ConfigurationError as error:
        say(str(error))
