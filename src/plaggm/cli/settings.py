"""Settings of ``plaggm fit``: each is declared once, for the command line and for the settings file."""

# Defaults of the dataclass are made by functions that return fields.
# ruff: noqa: RUF009

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem

from plaggm.cli.completion import complete_columns
from plaggm.cli.messages import UsablePath
from plaggm.cli.option_values import as_bandwidth, as_ridge, as_tau, as_threshold
from plaggm.cli.options import EDGES, JOBS, RATE, SEED, TEMPORAL, Checked, Count

if TYPE_CHECKING:
    from plaggm.parameter_types import (
        Criterion,
        EdgeRule,
        FormChoice,
        MarginChoice,
        Robust,
        Smoother,
        Temporal,
        Variance,
    )

    Indicator = Literal["ramp", "soft", "hard"]
    MissingTreatment = Literal["refuse", "drop", "em", "impute"]

HEADER = "# Settings of plaggm fit. To repeat the run: plaggm fit --config settings.toml\n"
SECTION = "fit"
CRITERIA = ("cv", "aic", "bic", "ebic", "refit", "stars")
# As in plaggm.core, repeated so that help need not load the numerical libraries.
INDICATORS, FORMS = ("ramp", "soft", "hard"), ("auto", "lemma", "supplement")
KERNELS = ("gaussian", "epanechnikov", "triangular", "biweight", "uniform")
VARIANCES = ("function", "conditional", "unit")
# Number of half-samples; the largest is far above any sensible number.
HALVES = Count(100_000)
Default = TypeVar("Default")
Completion: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _setting(
    default: Default,
    kind: click.ParamType,
    words: str,
    *,
    metavar: str | None = None,
    usual: str | None = None,
    complete: Completion | None = None,
) -> Default:
    """A field of the settings, with the description of its option.

    Parameters
    ----------
    default : object
        Value if the setting is left out.
    kind : click.ParamType
        Allowed values, on the command line and in a settings file.
    words : str
        Help text.
    metavar : str, optional
        Placeholder of its value in the help.
    usual : str, optional
        Description of the default in the help; the default itself if absent.
    complete : callable, optional
        Shell completion of its values.
    """
    completion = {} if complete is None else {"shell_complete": complete}
    option = {"type": kind, "help": words, "metavar": metavar, "usual": usual, **completion}
    return field(default=default, metadata=option)


def _column(default: Default, words: str, *, usual: str | None = None) -> Default:
    """A setting whose values are columns of the table."""
    return _setting(
        default, click.STRING, words, metavar="COL", usual=usual, complete=complete_columns
    )


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings of a run, with what the command line says about each."""

    data: str = _setting("", UsablePath(), "Table to read.")
    confounder: tuple[str, ...] = _column(
        (), "Column with a confounder. Repeat the option, or use a pattern, for several."
    )
    columns: tuple[str, ...] = _column(
        (),
        "Variables of the network: names or patterns such as 'roi_*'. [default: all other columns]",
    )
    exclude: tuple[str, ...] = _column((), "Columns to leave out.")
    group_by: str | None = _column(None, "Fit one network for each level of this column.")
    threshold: str | tuple[float, ...] = _setting(
        "auto",
        Checked("threshold", as_threshold),
        "Largest absolute value of the confounder without distortion, in its units; separate the "
        "values of several confounders by commas.",
        metavar="auto|NUMBERS",
    )
    reference: tuple[str, ...] = _setting(
        (),
        click.STRING,
        "Confounder value that the network refers to: zero (for amounts such as motion; R vanishes "
        "below the threshold), average, a number, or a level of a factor. For one of several "
        "confounders write NAME=REFERENCE; the option can be repeated.",
        metavar="REF",
        usual="zero if the values look like an amount, otherwise average",
    )
    categorical: tuple[str, ...] = _column(
        (),
        "Confounder whose numbers are codes of categories, such as a site. Text columns are always "
        "factors.",
    )
    smoother: Smoother = _setting(
        "spline",
        click.Choice(("spline", "kernel")),
        "How the distortion R is estimated: by a penalised spline, or by local linear smoothing with a "
        "kernel, as in the paper. All settings of the paper's estimator: --paper.",
    )
    tau: str | float | None = _setting(
        None,
        Checked("tau", as_tau),
        "Penalty of the spline: chosen for the error of the baseline network (focused), by restricted "
        "maximum likelihood (reml), or a number.",
        metavar="focused|reml|NUMBER",
        usual="focused",
    )
    indicator: Indicator = _setting(
        "ramp",
        click.Choice(INDICATORS),
        "Indicator function I(g) of the kernel smoother: rising linearly above the threshold "
        "(ramp), as in the paper (soft, 1 - exp(-k²g²)/2), or a step (hard). Used with --smoother "
        "kernel.",
    )
    form: FormChoice = _setting(
        "auto",
        click.Choice(FORMS),
        "Form of the kernel smoother: that of Lemma 2 or of the Supplement. Used with --smoother "
        "kernel.",
        usual="lemma for the soft indicator, otherwise supplement",
    )
    kernel: str = _setting(
        "gaussian",
        click.Choice(KERNELS),
        "Kernel function that weights samples by their confounder. Used with --smoother kernel.",
    )
    bandwidth: str | tuple[float, ...] = _setting(
        "auto",
        Checked("bandwidth", as_bandwidth),
        "Bandwidth of the kernel in the confounder's units (one for each confounder, separated by "
        "commas), or chosen by Assumption 1 of the paper (auto) or cross-validation (cv). Used "
        "with --smoother kernel.",
        metavar="auto|cv|NUMBERS",
    )
    ridge: float = _setting(
        0.0,
        Checked("ridge", as_ridge),
        "Ridge added to every local system of the kernel smoother, as a multiple of its diagonal; "
        "needed where systems are singular. Used with --smoother kernel.",
        metavar="NUMBER",
    )
    combine: Literal["product", "norm"] = _setting(
        "product",
        click.Choice(("product", "norm")),
        "How several confounders enter the kernel: as a product of one kernel for each, or by the "
        "norm of all, each divided by its threshold or its root mean square. Used with --smoother "
        "kernel.",
    )
    variance: Variance = _setting(
        "function",
        click.Choice(VARIANCES),
        "Conditional variances: a function of the confounder (function), constant for each variable "
        "(conditional), or equal to one as in the paper (unit).",
    )
    standardize: Literal["yes", "no"] = _setting(
        "yes",
        click.Choice(("yes", "no")),
        "Whether columns are centred and divided by their standard deviation first.",
    )
    edges: EdgeRule = _setting(
        "fdr",
        EDGES,
        "Rule that declares edges: tests at a false discovery rate (fdr; only for methods with "
        "such tests), or non-zero penalised estimates (penalty).",
    )
    fdr: float | None = _setting(
        None,
        RATE,
        "False discovery rate of the edges, between 0 and 1.",
        metavar="RATE",
        usual="0.05",
    )
    criterion: Criterion = _setting(
        "cv",
        click.Choice(CRITERIA),
        "Criterion that chooses the penalty: cv predicts and ranks pairs best, but with --edges "
        "penalty declares many weak edges; bic, ebic and refit declare few false ones.",
    )
    one_se: bool = _setting(
        False,
        click.BOOL,
        "Choose the largest penalty within one standard error of the best, for fewer edges with "
        "--edges penalty. Used with --criterion cv.",
    )
    temporal: Temporal | None = _setting(
        None,
        TEMPORAL,
        "Treat the rows as time series in the given order, and whiten them by an autoregressive "
        "filter of this order, or of an order chosen by BIC (ar).",
        metavar="ar|ORDER",
        usual="ar with --time or --run, otherwise independent rows",
    )
    run: str | None = _column(
        None,
        "Column that identifies the time series (a scan, a session) of each row. Columns that never "
        "change within a run are left out unless --columns names them.",
    )
    time: str | None = _column(
        None,
        "Column with the time of each row: rows are sorted by it within each run, and a gap in time "
        "starts a new series.",
    )
    robust: Robust | None = _setting(
        None,
        click.Choice(("winsor",)),
        "Winsorise values that are more than three robust standard deviations from the location of "
        "their variable, given the row's confounder.",
        usual="use all values unchanged",
    )
    margins: MarginChoice = _setting(
        "gaussian",
        click.Choice(("gaussian", "rank")),
        "Use the variables as they are (gaussian), or replace them by normal scores of their ranks "
        "(rank), for skewed, heavy-tailed and ordinal variables.",
    )
    family: tuple[str, ...] = _setting(
        (),
        click.STRING,
        "Distribution of the variables: gaussian, binomial (0 and 1), poisson (counts), or auto, which "
        "infers it from the values. For one variable write COL=FAMILY; the option can be repeated.",
        metavar="FAMILY",
        usual="gaussian",
    )
    na: tuple[str, ...] = _setting(
        (),
        click.STRING,
        "Further code for missing values, such as -999. Empty cells, '.', NA and the like are always "
        "missing.",
        metavar="CELL",
    )
    missing: MissingTreatment = _setting(
        "refuse",
        click.Choice(("refuse", "drop", "em", "impute")),
        "Treatment of missing values: stop with an error (refuse), drop their rows (drop), the EM "
        "algorithm, with standard errors that account for missing cells (em), or single imputation, "
        "after which tests take imputed values for observed ones (impute).",
    )
    stability: int = _setting(
        20, HALVES, "Number of half-samples for the stability of edges; 0 for none.", metavar="N"
    )
    sheet: str | None = _setting(
        None, click.STRING, "Sheet of an Excel file.", metavar="NAME", usual="the first"
    )
    node_groups: str | None = _setting(
        None,
        UsablePath(),
        "Table with the columns variable and group (traits, sectors, brain networks), to colour the "
        "variables and to compute bridge centralities.",
        metavar="FILE",
    )
    truth: str | None = _setting(
        None,
        UsablePath(),
        "File truth.json of simulated data, shown beside the estimate.",
        metavar="FILE",
    )
    seed: int = _setting(0, SEED, "Seed of folds and half-samples.")
    jobs: int | None = _setting(None, JOBS, "Number of cores to use.", metavar="N", usual="-1, all")

    @property
    def series(self) -> Temporal | None:
        """The estimators' parameter ``temporal``; None if rows are not time series."""
        named = self.run is not None or self.time is not None
        return "ar" if self.temporal is None and named else self.temporal

    @property
    def cores(self) -> int:
        """Number of cores to use, -1 for all: what the estimators call ``n_jobs``."""
        return -1 if self.jobs is None else self.jobs

    def to_toml(self, run: Mapping[str, Any]) -> str:
        """The settings file, with what is known about the run in a section of its own."""
        import tomli_w

        used = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value is not None and value != ()
        }
        return HEADER + tomli_w.dumps({SECTION: used, "run": dict(run)})


DECLARED = {item.name: item for item in fields(FitSettings)}
