"""``plaggm completion``: shell completion of commands, options and columns."""

from __future__ import annotations

import csv
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

SHELLS = ("bash", "zsh", "fish")
TEXT_TABLES = {".csv", ".tsv", ".tab", ".txt"}

EPILOG = """\b
To switch it on for good, add the line for your shell:
  bash  ~/.bashrc                     eval "$(plaggm completion bash)"
  zsh   ~/.zshrc                      eval "$(plaggm completion zsh)"
  fish  ~/.config/fish/config.fish    plaggm completion fish | source
"""

# Click's script inserts names of columns as they are; those with spaces would become several words.
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
# Click's script takes for granted that zsh has loaded its completion system.
ZSH_SYSTEM = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that lets a shell complete plaggm's commands, options and columns."""
    from plaggm.cli.group import commands

    found = get_completion_class(shell)
    assert found is not None, "click knows every shell of the list"
    complete = found(commands, {}, "plaggm", "_PLAGGM_COMPLETE")
    script = complete.source_template % complete.source_vars()
    before = ZSH_SYSTEM if shell == "zsh" else ""
    after = BASH_QUOTING if shell == "bash" else ""
    click.echo(f"{before}{script}{after}")


def complete_columns(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names in the first line of the table that the command was given, if it is text."""
    # While an option waits for its value, click has not yet told the arguments apart.
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
