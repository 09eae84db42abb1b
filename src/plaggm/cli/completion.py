"""``plaggm completion``: shell completion of commands, options and columns."""

from __future__ import annotations

import csv
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from plaggm.cli.messages import InputError

SHELLS = ("bash", "zsh", "fish")
TEXT_TABLES = {".csv", ".tsv", ".tab", ".txt"}

EPILOG = """\b
To switch it on for good, add the line for your shell:
  bash  ~/.bashrc                     eval "$(plaggm completion bash)"
  zsh   ~/.zshrc                      eval "$(plaggm completion zsh)"
  fish  ~/.config/fish/config.fish    plaggm completion fish | source
"""

# Click's script does not quote column names, so that one with a space would become several words.
BASH_QUOTING = r"""
_plaggm_quoted_completion() {
    _plaggm_completion "$@"
    [[ ${COMP_WORDS[COMP_CWORD]} == [\"\']* ]] && return 0
    local place
    for place in "${!COMPREPLY[@]}"; do
        COMPREPLY[place]=$(printf %q "${COMPREPLY[place]}")
    done
}
complete -o nosort -F _plaggm_quoted_completion plaggm
"""
# Click's script assumes that zsh has loaded its completion system.
ZSH_SYSTEM = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that lets a shell complete plaggm's commands, options and columns."""
    from plaggm.cli.group import commands

    found = get_completion_class(shell)
    if found is None:
        raise InputError(f"The installed version of click has no completion for {shell}.")
    complete = found(commands, {}, "plaggm", "_PLAGGM_COMPLETE")
    script = complete.source_template % complete.source_vars()
    before = ZSH_SYSTEM if shell == "zsh" else ""
    after = BASH_QUOTING if shell == "bash" else ""
    click.echo(f"{before}{script}{after}")


def complete_columns(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Column names in the header of the table on the command line, if it is a text file."""
    # While an option is completed, the table may still be among the arguments that click has not assigned.
    words = [ctx.params.get("data") or "", *ctx.args]
    tables = [Path(word) for word in words if Path(word).suffix.lower() in TEXT_TABLES]
    if not tables:
        return []
    try:
        with tables[0].open(encoding="utf-8-sig", newline="") as file:
            line = file.readline()
    except (OSError, UnicodeDecodeError):
        return []
    delimiter = max(",;\t", key=line.count)
    names = next(csv.reader([line], delimiter=delimiter), [])
    return [CompletionItem(name.strip()) for name in names if name.strip().startswith(incomplete)]
