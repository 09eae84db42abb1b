"""Pages of all commands, made of the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

FOLDER = Path("generated") / "commands"
SPECIAL = re.compile(r"([\\`*_<>\[\]])")
CODE = re.compile(r"``(.+?)``")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is; what stands between double backticks is code."""
    parts = CODE.split(text)
    return "".join(
        f"`{part}`" if index % 2 else SPECIAL.sub(r"\\\1", part) for index, part in enumerate(parts)
    )


def all_commands(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    """A command and the commands below it, each with its context."""
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is None:
                raise LookupError(f"{context.command_path} lists {name}, which it does not have")
            inner = click.Context(below, info_name=name, parent=context, **command.context_settings)
            yield from all_commands(below, inner)


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text in Markdown; those that begin with a backspace are kept as they are."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text).strip()):
        if paragraph.startswith("\b"):
            lines = paragraph.split("\n")[1:]
            title = lines.pop(0) if lines and lines[0].endswith(":") else ""
            code = inspect.cleandoc("\n".join(lines))
            if any(line.startswith("plaggm") for line in code.splitlines()):
                yield f"{title}\n\n```console\n{code}\n```"
            else:
                yield escaped(f"{title} {' '.join(code.split())}".strip())
        else:
            yield escaped(" ".join(paragraph.split()))


def page(context: click.Context) -> str:
    """The Markdown of one command."""
    command = context.command
    depth = context.command_path.count(" ")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"{'#' * max(depth, 1)} {context.command_path}", "", f"```text\n{usage}\n```", ""]
    lines += [f"{text}\n" for text in paragraphs(command.help or "")]
    records = [
        record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) is not None and record[1]
    ]
    for names, help_text in records:
        lines += [f"`{names}`", f":   {escaped(' '.join(help_text.split()))}", ""]
    lines += [f"{text}\n" for text in paragraphs(command.epilog or "")]
    return "\n".join(lines)


def write_pages(app: Sphinx, config: Config) -> None:
    """Write one page for each command that ``plaggm`` lists, with the commands below it."""
    from plaggm.cli.group import commands

    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    top = click.Context(commands, info_name="plaggm", **commands.context_settings)
    for name in commands.list_commands(top):
        found = commands.get_command(top, name)
        inner = click.Context(found, info_name=name, parent=top, **commands.context_settings)
        text = "\n".join(page(context) for context in all_commands(found, inner))
        target = folder / f"{name}.md"
        # A file that is left alone is not read again.
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    index = "\n".join(["```{toctree}", *commands.list_commands(top), "```", ""])
    (folder / "index.md").write_text(f"# Command reference\n\n{index}", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
