"""A run of ``plaggm fit``: read once, fit every level, write its folder."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from plaggm import __version__
from plaggm.cli.confounder_kinds import numbers_of
from plaggm.cli.duration_notice import duration_notice
from plaggm.cli.group_levels import LevelSamples, level_samples, shared_labels
from plaggm.cli.layout import GROUPS, SETTINGS, SUMMARY
from plaggm.cli.messages import InputError, library_errors
from plaggm.cli.progress import Begin
from plaggm.cli.samples import in_table, labelled_rows
from plaggm.cli.settings import FitSettings
from plaggm.cli.table_notices import Notices, notices
from plaggm.cli.time_order import in_time_order
from plaggm.cli.variable_families import variable_families
from plaggm.cli.variables import TableRoles, read_frame, table_roles
from plaggm.core.cost.fit_time import usual_seconds

if TYPE_CHECKING:
    from plaggm.cli.fitting import Networks
    from plaggm.report import Truth

LOAD = "loading"
IGNORE = "fitting without adjustment (the first run also compiles)"
ADJUST = "fitting with adjustment"
RESAMPLE = "fitting half-samples"
DRAW = "drawing"
PAGE = "writing the page"
# Usual seconds of steps whose time does not depend on the data.
LOADING, DRAWING, WRITING = 3.0, 6.0, 1.0


class Outcome(NamedTuple):
    """Text printed at the end: the summary, and the conclusion in one sentence."""

    summary: str
    conclusion: str


@dataclass(frozen=True, slots=True)
class FitRun:
    """A run with its settings and checked samples, before the first fit.

    Attributes
    ----------
    settings : FitSettings
        Settings, with the names of the columns that were found.
    levels : tuple of LevelSamples
        One without a group column.
    truth : Truth or None
    node_groups : dict or None
        Group of every variable.
    facts : dict
        Facts about the table, for the settings file.
    notices : Notices
        Findings of the first check of the table.
    level_notes : tuple of str
        Caveats of a comparison of the levels.
    """

    settings: FitSettings
    levels: tuple[LevelSamples, ...]
    truth: Truth | None
    node_groups: dict[str, str] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)
    level_notes: tuple[str, ...] = ()

    def seconds(self) -> dict[str, float]:
        """Every step with its usual time."""
        usual = {LOAD: LOADING}
        for level in self.levels:
            # The time left is scaled by the actual pace.
            one = usual_seconds(*level.samples.x.shape, kernel=self.settings.smoother == "kernel")
            usual[level.step(IGNORE)] = one.plain
            usual[level.step(ADJUST)] = one.adjusted
            if self.settings.stability:
                usual[level.step(RESAMPLE)] = one.single * self.settings.stability
            usual[level.step(DRAW)] = DRAWING
            usual[level.step(PAGE)] = WRITING
        return usual

    def duration_notice(self) -> str | None:
        """A sentence on how long it will take, if that is long."""
        n, p = max((level.samples.x.shape for level in self.levels), key=lambda shape: shape[0])
        kernel = self.settings.smoother == "kernel"
        return duration_notice(
            sum(self.seconds().values()), n, p, self.settings.stability, kernel=kernel
        )

    def run(self, folder: Path, begin: Begin) -> Outcome:
        """Fit every level and write its files.

        Parameters
        ----------
        folder : Path
            Empty folder to write into.
        begin : Begin

        Returns
        -------
        Outcome
        """
        begin(LOAD)
        if self.settings.group_by is None:
            return self._run_one(folder, begin)
        return self._run_groups(folder, begin, self.settings.group_by)

    def _run_one(self, folder: Path, begin: Begin) -> Outcome:
        from plaggm.cli.summary import NAMED, conclusion, summary_text

        networks = self._fit(self.levels[0], begin)
        self._write(folder, self.levels[0], networks, begin)
        return Outcome(summary_text(networks, self.truth, most=NAMED), conclusion(networks))

    def _run_groups(self, folder: Path, begin: Begin, group: str) -> Outcome:
        from plaggm.cli.common_reference import common_reference
        from plaggm.cli.groups import write_overview
        from plaggm.cli.naming import folder_names
        from plaggm.report.levels import Level

        with library_errors(f"{Path(self.settings.data).name}: "):
            settings, notes = common_reference(self.levels, self.settings)
        run = replace(self, settings=settings)
        fitted = []
        places = folder_names([str(level.name) for level in self.levels])
        for level, place in zip(self.levels, places, strict=True):
            networks = run._fit(level, begin)
            home = folder / GROUPS / place
            home.mkdir(parents=True)
            run._write(home, level, networks, begin)
            before = networks.before or networks.after
            fitted.append(Level(str(level.name), place, before, networks.after))
        (folder / SETTINGS).write_text(self._settings_file(), encoding="utf-8")
        write_overview(folder, fitted, group, (*notes, *self.level_notes))
        text = (folder / SUMMARY).read_text(encoding="utf-8")
        return Outcome(text, f"{len(fitted)} networks, one for each level of {group}.")

    def _fit(self, level: LevelSamples, begin: Begin) -> Networks:
        from plaggm.cli.fitting import Networks, fit_adjusted, fit_unadjusted, with_stability
        from plaggm.estimators.row_warnings import DependentRowsWarning
        from plaggm.user_warnings import silenced_warnings

        where = "" if level.name is None else f", level {level.name!r}"
        with (
            library_errors(f"{Path(self.settings.data).name}{where}: "),
            # The check of the table has reported them.
            silenced_warnings(DependentRowsWarning),
        ):
            begin(level.step(IGNORE))
            adjusted = bool(self.settings.confounder)
            before = fit_unadjusted(level.samples, self.settings) if adjusted else None
            begin(level.step(ADJUST))
            model = fit_adjusted(level.samples, self.settings)
            if self.settings.stability:
                begin(level.step(RESAMPLE))
            after = with_stability(
                model,
                level.samples,
                self.settings,
                lambda share: begin(level.step(RESAMPLE), share),
            )
        known = {"data_findings": list(self.notices.cautions)} if self.notices.cautions else {}
        after = replace(after, diagnostics={**after.diagnostics, **known})
        source = Path(self.settings.data)
        if before is not None:
            before = in_table(before, level.samples, source)
        return Networks(before, in_table(after, level.samples, source))

    def _write(self, folder: Path, level: LevelSamples, networks: Networks, begin: Begin) -> None:
        from plaggm.cli.folder import write_pictures, write_tables
        from plaggm.report import write_report

        write_tables(folder, networks, self._settings_file(level), self.truth, self.node_groups)
        begin(level.step(DRAW))
        write_pictures(folder, networks, self.node_groups)
        begin(level.step(PAGE))
        write_report(folder)

    def _settings_file(self, level: LevelSamples | None = None) -> str:
        facts = {"plaggm": __version__, **self.facts}
        if level is not None:
            facts["samples"] = len(level.samples.x)
            facts |= {} if level.name is None else {"level": level.name}
            facts |= {"missing": level.samples.note} if level.samples.note else {}
        return self.settings.to_toml(facts)


def read_run(settings: FitSettings, known: dict[str, Any]) -> FitRun:
    """Read the table and check everything that can be checked before a fit.

    Parameters
    ----------
    settings : FitSettings
    known : dict
        Facts that an earlier run stored about its table.

    Returns
    -------
    FitRun
    """
    source = Path(settings.data)
    table = table_roles(read_frame(settings, source), settings, source)
    roles = table.roles
    labelled, note = labelled_rows(table.frame, roles, settings)
    if note:
        warnings.warn(note, stacklevel=2)
    frame, series = in_time_order(labelled, roles, settings, source)
    roles, numbers = numbers_of(frame, roles, settings, source)
    levels = tuple(level_samples(numbers, frame, series, roles, settings, source))
    for level in levels:
        if level.samples.note:
            warnings.warn(level.samples.note, stacklevel=2)
    families = variable_families(settings.family, numbers[list(roles.variables)], source)
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if known.get("sha256", digest) != digest:
        warnings.warn(
            f"{source} has changed since the settings file was written, so the result may differ.",
            stacklevel=2,
        )
    return FitRun(
        settings=replace(
            settings,
            data=str(source.resolve()),
            truth=_resolved(settings.truth),
            node_groups=_resolved(settings.node_groups),
            confounder=roles.confounders,
            categorical=roles.factors,
            columns=roles.variables,
            exclude=(),
            group_by=roles.group,
            temporal=settings.series,
            run=roles.run,
            time=roles.time,
            family=families.setting,
        ),
        levels=levels,
        truth=_read_truth(settings, roles.variables),
        node_groups=_read_groups(settings, roles.variables),
        facts={"rows": len(frame), "sha256": digest, **_left_out(table)},
        notices=notices(replace(table, frame=frame), settings, series, source, families),
        level_notes=()
        if roles.group is None
        else shared_labels(frame, roles.group, (*roles.variables, *roles.confounders)),
    )


def _left_out(table: TableRoles) -> dict[str, list[str]]:
    """The columns left out because they are not measures, for the settings file."""
    names = [finding.columns[0] for finding in table.findings if finding.level == "left out"]
    return {"left_out": names} if names else {}


def _resolved(path: str | None) -> str | None:
    return None if path is None else str(Path(path).resolve())


def _read_groups(settings: FitSettings, variables: tuple[str, ...]) -> dict[str, str] | None:
    if settings.node_groups is None:
        return None
    from plaggm.report.node_groups import read_node_groups

    path = Path(settings.node_groups)
    if not path.is_file():
        raise InputError(f"There is no file {path} (--node-groups).")
    return read_node_groups(path, variables)


def _read_truth(settings: FitSettings, variables: tuple[str, ...]) -> Truth | None:
    if settings.truth is None:
        return None
    from plaggm.report import read_truth

    path = Path(settings.truth)
    if not path.is_file():
        raise InputError(f"There is no file {path} (--truth).")
    return read_truth(path, variables)
