"""``plaggm study``: brain networks of groups of people, from scans to a report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from plaggm.atomic_files import write_file
from plaggm.cli.cluster import ClusterOptions, cluster_options, on_cluster
from plaggm.cli.messages import InputError, UsablePath, warnings_as_lines
from plaggm.cli.options import (
    EDGES,
    RATE,
    SCAN_TEMPORAL,
    FiniteRange,
    jobs_option,
    output_option,
    seed_option,
)
from plaggm.cli.setting_options import OF_KERNEL, setting_options, take_smoothing
from plaggm.cli.staging import is_empty, output_folder

if TYPE_CHECKING:
    from plaggm.fmri import Problems, StudyData, StudyPlan, StudyResult
    from plaggm.fmri.subjects import Progress as Told

# The keys of plaggm.fmri.treatments.METHODS, repeated so that help need not load the library.
METHODS = ("pla", "lr", "scrub", "raw", "pla-own", "paper", "kernel")
CRITERIA = ("cv", "aic", "bic", "ebic")
MARK = "study.json"
GO_ON = "What is finished is kept there: put this right and run the same command again."

EPILOG = """\b
Examples:
  plaggm study participants.tsv --group diagnosis --confounder framewise_displacement
  plaggm study participants.tsv --fmriprep derivatives --group diagnosis --confounder motion7
  plaggm study COBRE_FOLDER --group "Subject Type" --confounder fd --atlas atlas.nii.gz

\b
The table has the columns subject, the group, timeseries (region series: TSV, CSV, NPY) or image
(4-D NIfTI), and confounds; paths are relative to it. Run the same command again to resume after an
interruption.
"""


@click.command(epilog=EPILOG)
@click.argument("participants", type=UsablePath(path_type=Path))
@click.option("--group", required=True, metavar="COLUMN", help="Column with the groups.")
@click.option(
    "--confounder",
    "confounders",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="Column of the confounds tables; repeat it for several. fd, dvars, motion6 and motion7 (six "
    "parameters and framewise displacement, as in the paper) are sets of columns.",
)
@click.option(
    "--fmriprep",
    type=UsablePath(path_type=Path),
    metavar="FOLDER",
    help="fMRIPrep derivatives with the scans of the participants in the table.",
)
@click.option("--space", help="Space of the fMRIPrep scans, such as MNI152NLin2009cAsym.")
@click.option("--task", help="Task of the fMRIPrep scans, such as rest.")
@click.option(
    "--atlas",
    default="harvard-oxford",
    help="harvard-oxford, schaefer-100, schaefer-200, schaefer-400, aal (nilearn downloads them), a "
    "labels image, or a table of coordinates (name, x, y, z).",
)
@click.option(
    "--labels",
    type=UsablePath(path_type=Path),
    metavar="FILE",
    help="Names of a labels image: label, name.",
)
@click.option(
    "--mask", type=UsablePath(path_type=Path), metavar="FILE", help="Brain mask of all scans."
)
@click.option(
    "--radius",
    type=FiniteRange(min=0, min_open=True),
    default=5.0,
    help="Radius of spheres round coordinates, in mm.",
)
@click.option(
    "--covariate",
    "covariates",
    multiple=True,
    metavar="COL",
    help="Column of the participants table (age, sex, site; text is a factor), or "
    "mean_framewise_displacement: a confounder of the pooled networks, and accounted for in the comparison "
    "of groups and in the diagnosis.",
)
@click.option(
    "--high-pass",
    type=FiniteRange(min=0, min_open=True),
    help="Cut-off of the high-pass filter of scans, in Hz; no filter by default.",
)
@click.option(
    "--denoise",
    multiple=True,
    metavar="PART",
    help="Part of fMRIPrep's confounds to regress out by nilearn: wm_csf, high_pass, global_signal, "
    "compcor. Motion is left to the model.",
)
@click.option(
    "--method",
    "methods",
    type=click.Choice(METHODS),
    multiple=True,
    default=("pla", "lr"),
    help="Treatment of motion; the comparison of groups by the first is shown. pla: PLA-GGM by a spline, "
    "one R for all subjects; pla-own: the same with an R for each; paper: the paper's estimator, with an R "
    "for each; kernel: PLA-GGM by the kernel that the options say; lr: LR-GGM; scrub drops volumes with "
    "large motion; raw: no adjustment.",
)
@setting_options(*OF_KERNEL, "variance")
@click.option(
    "--threshold",
    "thresholds",
    type=FiniteRange(min=0),
    multiple=True,
    help="Size up to which a confounder does no harm; one for all or one for each. [default: auto]",
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    default="cv",
    help="Chooses the penalties of the groups' networks.",
)
@click.option(
    "--edges",
    type=EDGES,
    default="fdr",
    help="Edges of the groups' networks: pairs whose test passes at --fdr, or that the penalty keeps.",
)
@click.option(
    "--fdr",
    type=RATE,
    metavar="RATE",
    default=0.05,
    help="False discovery rate of edges and of differences between groups.",
)
@click.option(
    "--subject-criterion",
    type=click.Choice(CRITERIA),
    default="aic",
    help="The same for the subjects' networks, one penalty for all of them.",
)
@click.option(
    "--temporal",
    type=SCAN_TEMPORAL,
    metavar="ar|none|ORDER",
    default="ar",
    help="Scans are time series: whiten all of them by one autoregression whose order BIC chooses, or that "
    "is given; none takes volumes as independent.",
)
@click.option(
    "--scrub",
    type=FiniteRange(min=0, min_open=True),
    default=0.5,
    help="Framewise displacement in mm beyond which a volume is high-motion.",
)
@click.option(
    "--permutations",
    type=click.IntRange(min=1),
    default=30_000,
    help="Permutations of the subjects' groups, for the comparison of groups.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=0),
    default=3,
    help="Repetitions of the ten-fold cross-validation of the diagnosis; 0 leaves it out.",
)
@click.option(
    "--label-permutations",
    type=click.IntRange(min=0),
    default=100,
    help="Permutations of the groups for the p-value of the diagnosis.",
)
@jobs_option(-1, "Subjects")
@cluster_options
@seed_option("folds and permutations")
@output_option("plaggm-study", "everything; an earlier run is resumed from it")
@click.option("--check", is_flag=True, help="Only check the input and list its problems.")
@click.option("--quiet", is_flag=True, help="Print problems and the last line only.")
def study(
    participants: Path,
    group: str,
    thresholds: tuple[float, ...],
    methods: tuple[str, ...],
    high_pass: float | None,
    denoise: tuple[str, ...],
    jobs: int,
    scheduler: str | None,
    tls_ca_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    worker_timeout: float | None,
    output: Path,
    check: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compare the brain networks of groups of people without the influence of motion.

    Checks all input first and lists every problem; extracts and keeps region series; estimates the
    network of each group and of each subject; compares the groups, tries to tell them apart, and
    writes tables, pictures and report.html.
    """
    if not participants.exists():
        raise InputError(f"There is no file or folder {participants}.")
    use_one_thread_each()
    cluster = ClusterOptions(scheduler, tls_ca_file, tls_cert, tls_key, worker_timeout)
    with (
        input_errors(),
        warnings_as_lines(),
        on_cluster(cluster, output),
        counting(quiet=quiet) as progress,
    ):
        from plaggm.fmri import StudyPlan, read_study
        from plaggm.fmri.scans import Cleaning

        plan = StudyPlan(
            participants,
            group,
            output=output,
            cleaning=Cleaning(high_pass=high_pass, strategy=denoise),
            methods=tuple(dict.fromkeys(methods)),
            threshold=_threshold(thresholds),
            smoothing=take_smoothing(options, methods, (*OF_KERNEL, "variance")),
            n_jobs=jobs,
            **options,
        )
        with claimed(output):
            data, problems = read_study(plan, progress)
            _tell(problems, quiet=False)
            if not check:
                result = _run(plan, data, problems, progress)
    if check:
        people = f"{len(data.subjects)} subjects in {len(data.groups)} group(s)"
        click.echo(f"{people} can be analysed; {len(problems)} problem(s).")
        if len(problems):
            raise SystemExit(InputError.exit_code)
        return
    click.echo(_last_line(plan, result))


def _run(plan: StudyPlan, data: StudyData, problems: Problems, progress: Told) -> StudyResult:
    from plaggm.fmri import analyse, save_tables
    from plaggm.report.study import write_study_report

    known = len(problems)
    result = analyse(plan, data, problems, progress)
    _tell(problems, quiet=False, after=known)
    progress("writing tables, pictures and page", 0, 1)
    save_tables(plan, result)
    write_study_report(plan, result)
    return result


def use_one_thread_each() -> None:
    """Subjects run side by side, so each keeps to one BLAS thread unless the user decides."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _threshold(given: tuple[float, ...]) -> Any:
    if not given:
        return "auto"
    return given[0] if len(given) == 1 else given


@contextmanager
def claimed(output: Path) -> Iterator[None]:
    """Make a folder ours while a study is written to it, or refuse one that is not.

    A folder that was not there before goes again if nothing was kept in it.
    """
    with output_folder(output, GO_ON, below=True):
        if output.is_file():
            raise InputError(f"{output} is a file. Choose a folder with --output.")
        ours = (output / MARK).is_file()
        if output.is_dir() and not ours and not is_empty(output):
            raise InputError(
                f"{output} is not empty and holds no study. Choose another folder with --output."
            )
        made = not output.exists()
        output.mkdir(exist_ok=True)
        if not ours:
            text = json.dumps({"format": "plaggm-study", "finished": False})
            write_file(output / MARK, text)
        try:
            yield
        finally:
            if not ours and is_empty(output, but=MARK):
                (output / MARK).unlink(missing_ok=True)
                if made:
                    with suppress(OSError):
                        output.rmdir()


def _tell(problems: Problems, *, quiet: bool, after: int = 0) -> None:
    """List problems on stderr, those from a number on."""
    found = list(problems)[after:]
    if found and not quiet:
        click.echo(f"{len(found)} problem(s):", err=True)
        for problem in found:
            click.echo(f"  {problem}", err=True)


def _last_line(plan: StudyPlan, result: StudyResult) -> str:
    sizes = ", ".join(f"{len(result.data.of(group))} {group}" for group in result.data.groups)
    words = [f"{sizes}; {len(result.problems)} problem(s) noted."]
    first = plan.methods[0]
    if first in result.comparisons:
        words.append(result.comparisons[first].region_words(result.data.atlas.names))
    best = [one for one in result.diagnoses if one.features == "values"]
    if best:
        words.append(", ".join(f"{one.title} AUC {one.auc:.2f}" for one in best) + ".")
    words.append(f"Report: {plan.output / 'report.html'}")
    return " ".join(words)


@contextmanager
def input_errors() -> Iterator[None]:
    """Turn what the study refuses into one message."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("nilearn", "nibabel"):
            raise InputError("Reading scans needs nilearn: pip install 'plaggm[fmri]'") from error
        if missing in ("matplotlib", "jinja2"):
            raise InputError("The report needs more: pip install 'plaggm[cli,plot]'") from error
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


@contextmanager
def counting(*, quiet: bool) -> Iterator[Told]:
    """A bar with a count and the time left, one task after the other; none if stderr is no terminal."""
    console = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    # Before rich 14.3, one that is disabled ends with an empty line.
    with nullcontext() if bar.disable else bar:
        tasks: dict[str, TaskID] = {}

        def update(description: str, done: int, total: int) -> None:
            if description not in tasks:
                for other in tasks.values():
                    bar.update(other, visible=False)
                tasks[description] = bar.add_task(description, total=total)
            bar.update(tasks[description], completed=done, total=total)

        yield update
