"""``plaggm study``: brain networks of groups of people, from scans to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plaggm.cli.cluster import ClusterOptions, cluster_options, on_cluster
from plaggm.cli.libraries import need_libraries
from plaggm.cli.messages import InputError, UsablePath, warnings_as_lines
from plaggm.cli.options import (
    EDGES,
    RATE,
    SCAN_TEMPORAL,
    FiniteRange,
    jobs_option,
    methods_option,
    output_option,
    seed_option,
)
from plaggm.cli.setting_options import OF_KERNEL, setting_options, take_smoothing
from plaggm.cli.study_run import claimed, counting, input_errors, use_one_thread_each

if TYPE_CHECKING:
    from plaggm.fmri import Problems, StudyData, StudyPlan, StudyResult
    from plaggm.fmri.subjects import Progress

# The keys of plaggm.fmri.treatments.METHODS, repeated so that help need not load the library.
METHODS = ("pla", "lr", "lr-glasso", "scrub", "raw", "pla-own", "paper", "kernel")
CRITERIA = ("cv", "aic", "bic", "ebic")

EPILOG = """\b
Examples:
  plaggm study participants.tsv --group diagnosis --confounder framewise_displacement
  plaggm study participants.tsv --fmriprep derivatives --group diagnosis --confounder motion7
  plaggm study participants.tsv --derivatives xcp_d --fmriprep fmriprep --group site --confounder fd
  plaggm study COBRE_FOLDER --group "Subject Type" --confounder fd --atlas atlas.nii.gz

\b
The table has the columns subject, the group, timeseries (region series: TSV, CSV, NPY) or image
(4-D NIfTI), and confounds; paths are relative to it. Several lines of a subject are runs, which the
columns session, task and run may name. Run the same command again to resume after an interruption.
"""


@click.command(epilog=EPILOG)
@click.argument("participants", type=UsablePath(path_type=Path))
@click.option("--group", required=True, metavar="COLUMN", help="Column with the groups.")
@click.option(
    "--confounder",
    "confounders",
    multiple=True,
    default=("fd",),
    metavar="COLUMN",
    help="Column of the confounds tables; repeat it for several. fd, dvars, motion6 and motion7 (six "
    "parameters and framewise displacement, as in the paper) are presets. Displacement alone removes "
    "effects of motion as well as all seven, in less time.",
)
@click.option(
    "--fmriprep",
    type=UsablePath(path_type=Path),
    metavar="FOLDER",
    help="fMRIPrep derivatives with the scans of the participants, or with the confounds of the region "
    "series in --derivatives.",
)
@click.option(
    "--derivatives",
    type=UsablePath(path_type=Path),
    metavar="FOLDER",
    help="XCP-D or giga_connectome derivatives with the region series of the participants in the table "
    "(*_timeseries.tsv or .ptseries.nii).",
)
@click.option("--space", help="Space of the scans in a folder, such as MNI152NLin2009cAsym.")
@click.option(
    "--session", help="Session of the scans. [default: all sessions, as runs of their subject]"
)
@click.option("--task", help="Task of the scans, such as rest.")
@click.option(
    "--atlas",
    default="harvard-oxford",
    help="harvard-oxford, schaefer-100, schaefer-200, schaefer-400, aal (nilearn downloads them), a "
    "labels image, a table of coordinates (name, x, y, z, network), or the label that region series in a "
    "folder have.",
)
@click.option(
    "--labels",
    type=UsablePath(path_type=Path),
    metavar="FILE",
    help="Table of the regions with the columns label (or index), name and, optionally, network. The table "
    "that TemplateFlow puts beside an image is found automatically.",
)
@click.option(
    "--mask", type=UsablePath(path_type=Path), metavar="FILE", help="Brain mask of all scans."
)
@click.option(
    "--radius",
    type=FiniteRange(min=0, min_open=True),
    default=5.0,
    help="Radius of spheres around coordinates, in mm.",
)
@click.option(
    "--covariate",
    "covariates",
    multiple=True,
    metavar="COL",
    help="Column of the participants table (age, sex, site; text is a factor), or "
    "mean_framewise_displacement: used as a confounder of the pooled networks, and adjusted for in the "
    "comparison of groups and in the diagnosis.",
)
@click.option(
    "--blocks",
    metavar="COL",
    help="Column of the participants table (site, family): permutations exchange subjects only within its "
    "levels.",
)
@click.option(
    "--high-pass",
    type=FiniteRange(min=0, min_open=True),
    help="Cut-off of the high-pass filter of scans, in Hz; no filter by default.",
)
@click.option(
    "--denoise",
    multiple=True,
    metavar="STRATEGY",
    help="Denoising strategy that is applied first, by nilearn's names: 24p, simple, scrubbing.2, "
    "scrubbing.5, compcor, or wm_csf and high_pass, which leave motion to the model; each also with +gs "
    "(global signal). Repeat the option to compare several in one table; the study uses the first.",
)
@methods_option(
    "Treatments of motion, separated by commas; the page shows the comparison of groups by the first. pla: "
    "PLA-GGM by a spline, one R for all subjects; pla-own: the same with an R for each subject; paper: the "
    "paper's estimator, with an R for each subject; kernel: PLA-GGM by a kernel, set by the options below; "
    "lr: LR-GGM; lr-glasso: LR-GGM by the graphical lasso, each scan alone, as in the paper; scrub: drop "
    "volumes with large motion; raw: no adjustment.",
    choices=METHODS,
    default=("pla", "lr"),
)
@setting_options(*OF_KERNEL, "variance", kernel="--methods kernel")
@click.option(
    "--threshold",
    "thresholds",
    type=FiniteRange(min=0),
    multiple=True,
    help="Largest value of a confounder without distortion; one for all, or repeated for each. "
    "[default: auto]",
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    default="cv",
    help="Criterion that chooses the penalties of the groups' networks.",
)
@click.option(
    "--edges",
    type=EDGES,
    default="fdr",
    help="Rule that declares edges of the groups' networks: tests at --fdr, or non-zero penalised "
    "estimates.",
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
    type=click.Choice(("shrinkage", *CRITERIA)),
    default="shrinkage",
    help="Networks of subjects: shrunk towards that of all subjects, by an amount chosen on held-out "
    "blocks of volumes (shrinkage), or the lasso with its penalty chosen by cv, aic, bic or ebic.",
)
@click.option(
    "--temporal",
    type=SCAN_TEMPORAL,
    metavar="ar|none|ORDER",
    default="ar",
    help="Whiten all scans by one autoregressive filter of this order, or of an order chosen by BIC (ar); "
    "none treats volumes as independent.",
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
@output_option("everything; an earlier run is resumed from it", "plaggm-study")
@click.option(
    "--bids/--no-bids",
    default=True,
    help="Also write all networks as a BIDS derivative (*_relmat.tsv with sidecars; .pconn.nii for CIFTI).",
)
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

    Checks all input first and lists every problem; extracts and stores region series; estimates the
    network of each group and of each subject; compares the groups, classifies the subjects, and writes
    tables, pictures and report.html.
    """
    if not participants.exists():
        raise InputError(f"There is no file or folder {participants}.")
    if not check:
        need_libraries("plaggm study", "matplotlib", "jinja2")
    use_one_thread_each()
    cluster = ClusterOptions(scheduler, tls_ca_file, tls_cert, tls_key, worker_timeout)
    with (
        input_errors(),
        warnings_as_lines(),
        on_cluster(cluster, output),
        counting(quiet=quiet) as progress,
    ):
        from plaggm.fmri import StudyPlan, read_study
        from plaggm.fmri.covariates import exchange_blocks, read_covariates
        from plaggm.fmri.denoising import denoise as denoise_study
        from plaggm.fmri.denoising import parse_strategies
        from plaggm.fmri.scans import Cleaning

        strategies = parse_strategies(denoise)
        plan = StudyPlan(
            participants,
            group,
            output=output,
            cleaning=Cleaning(high_pass=high_pass),
            denoise=denoise,
            methods=methods,
            threshold=_threshold(thresholds),
            smoothing=take_smoothing(options, methods, (*OF_KERNEL, "variance")),
            n_jobs=jobs,
            **options,
        )
        with claimed(output):
            data, problems = read_study(plan, progress)
            if check:
                # What the analysis would refuse after hours of reading.
                for strategy in strategies[:1]:
                    data = denoise_study(data, strategy, problems)
                data, known = read_covariates(data, plan.covariates, problems)
                exchange_blocks(data, plan.blocks, problems, known)
            _print_problems(problems)
            if not check:
                result = _run(plan, data, problems, progress)
    if check:
        people = f"{len(data.subjects)} subjects in {len(data.groups)} group(s)"
        click.echo(f"{people} can be analysed; {len(problems)} problem(s).")
        if len(problems):
            raise SystemExit(InputError.exit_code)
        return
    click.echo(_last_line(plan, result))


def _run(plan: StudyPlan, data: StudyData, problems: Problems, progress: Progress) -> StudyResult:
    from plaggm.fmri import analyse, save_tables, write_bids
    from plaggm.report.study import write_study_report

    known = len(problems)
    result = analyse(plan, data, problems, progress)
    _print_problems(problems, first=known)
    progress("writing tables, pictures and page", 0, 1)
    save_tables(plan, result)
    if plan.bids:
        write_bids(plan, result)
    write_study_report(plan, result)
    return result


def _threshold(given: tuple[float, ...]) -> Any:
    if not given:
        return "auto"
    return given[0] if len(given) == 1 else given


def _print_problems(problems: Problems, first: int = 0) -> None:
    """List problems on stderr, from the one with the number ``first`` on."""
    found = list(problems)[first:]
    if found:
        click.echo(f"{len(found)} problem(s):", err=True)
        for problem in found:
            click.echo(f"  {problem}", err=True)


def _last_line(plan: StudyPlan, result: StudyResult) -> str:
    sizes = ", ".join(f"{len(result.data.of(group))} {group}" for group in result.data.groups)
    words = [f"{sizes}; {len(result.problems)} problem(s) noted."]
    first = plan.methods[0]
    compared = result.comparisons.get(first) or result.omnibus.get(first)
    if compared is not None:
        words.append(compared.region_words(result.data.atlas.names))
    best = [one for one in result.diagnoses if one.features == "values"]
    if best:
        words.append(", ".join(f"{one.title} AUC {one.auc:.2f}" for one in best) + ".")
    if missing := result.missing(plan):
        words.append(f"Missing: {', '.join(missing)}.")
    words.append(f"Report: {plan.output / 'report.html'}")
    return " ".join(words)
