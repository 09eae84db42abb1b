"""What ``--help`` says of options."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

click = pytest.importorskip("click")

from plaggm.cli.group import commands  # noqa: E402


def all_commands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command]]:
    yield context.command_path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from all_commands(found, click.Context(found, parent=context, info_name=name))


def test_help_names_only_options_that_the_command_has() -> None:
    lacking = {}
    seen = 0
    for path, command in all_commands(commands, click.Context(commands, info_name="plaggm")):
        options = [one for one in command.params if isinstance(one, click.Option)]
        known = {name for one in options for name in (*one.opts, *one.secondary_opts)}
        for one in options:
            named = set(re.findall(r"(?<!\w)--[a-z][a-z-]*", one.help or ""))
            seen += len(named)
            if named - known:
                lacking[f"{path} {one.opts[0]}"] = named - known
    assert seen > 20
    assert not lacking
