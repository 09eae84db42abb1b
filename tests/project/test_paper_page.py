"""docs/paper.md: every function and command that it names exists."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

click = pytest.importorskip("click")

from plaggm.cli.group import commands  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
SPANS = sorted(set(re.findall(r"`([^`]+)`", PAGE)))
OBJECTS = [span for span in SPANS if re.fullmatch(r"plaggm(\.\w+)+", span)]
COMMANDS = [span for span in SPANS if span.startswith("plaggm ")]
FILES = [span for span in SPANS if re.fullmatch(r"(tests|docs|src)/[\w./-]+", span)]


def resolve(name: str) -> object:
    """The module, class, function or method of a dotted name."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def test_the_page_names_something() -> None:
    assert len(OBJECTS) > 25
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_exist(name: str) -> None:
    assert resolve(name) is not None


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_exist(words: str) -> None:
    command: click.Command = commands
    rest = words.split()[1:]
    context = click.Context(command)
    while rest and not rest[0].startswith("-") and isinstance(command, click.Group):
        found = command.get_command(context, rest.pop(0))
        assert found is not None, words
        command = found
    known = {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    given = [word for word in rest if word.startswith("--")]
    assert not [option for option in given if option not in known], words
    assert isinstance(command, click.Command)
    assert given or words.count(" ") >= 2 or not rest


@pytest.mark.parametrize("name", FILES)
def test_files_exist(name: str) -> None:
    assert (ROOT / name).exists()


def test_what_is_not_there_would_be_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("plaggm.core.kernel.literal.no_such_function")
