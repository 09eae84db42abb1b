"""The command ``plaggm`` and its subcommands."""

from __future__ import annotations

import click

from plaggm import __version__
from plaggm.cli.demo import demo


@click.group(name="plaggm", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="plaggm", message="%(prog)s %(version)s")
def commands() -> None:
    """The network your data would show without the confounder."""


commands.add_command(demo)
