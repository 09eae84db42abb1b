"""The command ``plaggm`` and its subcommands, each loaded only when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import click

from plaggm import __version__

# What a shell expects of a program that was stopped with Ctrl-C.
INTERRUPTED = 130


class Entry(NamedTuple):
    """Module of a subcommand, and its line in the list of commands."""

    home: str
    summary: str


# A subcommand is the attribute of the module plaggm.cli.<home> that has its name.
COMMANDS = {
    "demo": Entry("demo", "Recover a known network from confounded data."),
    "check": Entry("check", "Check a table for problems before it is fitted."),
    "fit": Entry("fit", "Estimate the network of a table, adjusted for confounders."),
    "plan": Entry("plan", "Plan how many samples a study needs."),
    "simulate": Entry("simulate", "Simulate confounded data with a known network."),
    "compare": Entry("compare", "Fit all methods to a table and compare their networks."),
    "reproduce": Entry(
        "reproduce", "Repeat the paper's experiments, on simulated data or on scans."
    ),
    "report": Entry("report", "Rewrite the page of a result folder, or export its network."),
    "study": Entry("study", "Compare the brain networks of groups, from scans to a report."),
    "completion": Entry("completion", "Print the script for shell completion."),
}


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called, so that help need not wait for all."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand."""
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"plaggm.cli.{COMMANDS[cmd_name].home}"), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand; Ctrl-C ends it with one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            click.echo(" ".join(["Interrupted.", *map(str, interrupt.args)]), err=True)
            ctx.exit(INTERRUPTED)


@click.group(
    name="plaggm",
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="plaggm", message="%(prog)s %(version)s")
def commands() -> None:
    """The network your data would show without the confounder."""
