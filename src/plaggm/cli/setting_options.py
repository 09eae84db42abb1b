"""Settings of ``plaggm fit`` as options of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import click

from plaggm.cli.messages import InputError
from plaggm.cli.option_values import as_numbers
from plaggm.cli.options import Command
from plaggm.cli.settings import DECLARED, FitSettings
from plaggm.paper_parameters import PAPER_CHOICE, PAPER_MODEL
from plaggm.parameter_uses import unused_parameters

PAPER = {**PAPER_MODEL, **PAPER_CHOICE, "combine": "norm"}
# Settings of the kernel smoother, in commands that have a method of that name.
OF_KERNEL = ("indicator", "form", "kernel", "bandwidth", "ridge")
# Settings that --paper fixes; the paper leaves the others open.
FIXED = ("smoother", "variance")


def setting_options(
    *names: str, required: str = "", kernel: str = "--smoother kernel"
) -> Callable[[Command], Command]:
    """Options of a command for these settings, in this order; all but the table if none is named.

    Their value is None, or empty, where the user left them out: see :func:`with_options`.

    Parameters
    ----------
    *names : str
    required : str, optional
        The setting that must not be left out.
    kernel : str
        Option of the command under which settings of the kernel smoother are used, for their help.
    """
    chosen = names or [name for name in DECLARED if name != "data"]

    def add(command: Command) -> Command:
        for name in reversed(chosen):
            default, option = DECLARED[name].default, dict(DECLARED[name].metadata)
            usual = option.pop("usual") or (
                "" if default is False or default in (None, ()) else default
            )
            if isinstance(default, bool):
                # Left out is None, not False, which would overrule a settings file.
                # Without its flag_value, click 8.2 ignores a flag whose default is None.
                option |= {"is_flag": True, "flag_value": True, "default": None}
            option["help"] = option["help"].replace("--smoother kernel", kernel)
            if usual != "":
                option["help"] += f" [default: {usual}]"
            command = click.option(
                f"--{name.replace('_', '-')}",
                required=name == required,
                multiple=isinstance(default, tuple),
                **option,
            )(command)
        return command

    return add


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were not left out, which are None or empty."""
    return {name: value for name, value in options.items() if value is not None and value != ()}


def with_options(settings: FitSettings, options: Mapping[str, Any]) -> FitSettings:
    """Settings with the options that were given on the command line in their place."""
    return replace(settings, **given_options(options))


def as_in_paper(settings: FitSettings, options: Mapping[str, Any]) -> FitSettings:
    """Settings of the paper's estimator, combined with given options that the paper leaves open.

    Parameters
    ----------
    settings : FitSettings
    options : mapping
        Options of the command line by name, None or empty where they were left out.
    """
    given = given_options(options)
    for name in FIXED:
        if given.get(name, PAPER[name]) != PAPER[name]:
            raise InputError(
                f"--paper means --{name} {PAPER[name]}, and --{name} is {given[name]}. Leave one out."
            )
    return replace(settings, **PAPER)


def take_smoothing(
    options: dict[str, Any], methods: Sequence[str], names: Sequence[str] = OF_KERNEL
) -> dict[str, Any]:
    """Take the settings of the kernel out of the options of a command, as parameters of the estimator.

    Parameters
    ----------
    options : dict
        Options by name, None where they were left out; those of the kernel are removed.
    methods : sequence of str
        Methods that will be run; one of them must be ``kernel`` where the kernel has settings.
    names : sequence of str
        The settings of the kernel.
    """
    given = given_options({name: options.pop(name) for name in names})
    if given and "kernel" not in methods:
        raise InputError(
            f"--{next(iter(given))} is about the method kernel, which is not among the methods."
        )
    return {
        name: as_numbers(value) if name == "bandwidth" else value for name, value in given.items()
    }


def refuse_unused(settings: FitSettings) -> None:
    """Raise for options that the other options leave unused."""
    given, usual = (
        {**asdict(one), "family": " ".join(one.family) or "gaussian"}
        for one in (settings, FitSettings())
    )
    for unused in unused_parameters(given, usual):
        owner, value = unused.needs[0]
        raise InputError(
            f"--{unused.name.replace('_', '-')} is used with --{owner} {value} only, and --{owner} is "
            f"{given[owner]}. Leave one of them out."
        )
