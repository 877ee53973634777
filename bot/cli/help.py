"""The layout of `--help`: flags without a value, arguments without braces, and paragraphs that are wrapped.

Errors of arguments are in plain words.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption


class PlainCommand(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _describe_wrong(error.message)
            raise

    def get_params(self, ctx: Any) -> list[Any]:  # The types of Typer's own copy of Click
        return _hide_types_of_flags(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub(r"[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]


class PlainGroup(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_types_of_flags(super().get_params(ctx))


def use_plain_help(cli: typer.Typer) -> None:
    """Use this layout for all commands of `cli`, which must have been added before."""
    cli.info.cls = PlainGroup
    for command in cli.registered_commands:
        command.cls = PlainCommand
        if command.callback is not None:
            command.help = _join_lines(inspect.getdoc(command.callback) or "")
    for group in cli.registered_groups:
        if group.typer_instance is not None:
            use_plain_help(group.typer_instance)


def _hide_types_of_flags(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.is_flag:
            parameter.metavar = ""
    return parameters


def _describe_wrong(message: str) -> str:
    """Replace pydantic's messages, which are for programmers."""
    message = message.removeprefix("Value error, ")
    message = re.sub(r"Input should be a valid integer.*", "use a whole number.", message, flags=re.DOTALL)
    return message.replace("Input should", "it should")


def _join_lines(text: str) -> str:
    """Join the lines of each paragraph, since Typer wraps only the first paragraph."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)
