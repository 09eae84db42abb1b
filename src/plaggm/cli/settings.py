"""Settings of ``plaggm fit``: each is declared once, for the command line and for the settings file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import click

from plaggm.cli.completion import complete_columns
from plaggm.cli.messages import UsablePath
from plaggm.cli.options import (
    EDGES,
    JOBS,
    RATE,
    SEED,
    TEMPORAL,
    Checked,
    Count,
    as_bandwidth,
    as_ridge,
    as_tau,
    as_threshold,
)

if TYPE_CHECKING:
    from plaggm.parameter_types import (
        Criterion,
        EdgeRule,
        FormChoice,
        MarginChoice,
        Robust,
        Smoother,
        Variance,
    )

    Indicator = Literal["ramp", "soft", "hard"]

HEADER = "# Settings of plaggm fit. To repeat the run: plaggm fit --config settings.toml\n"
SECTION = "fit"
CRITERIA = ("cv", "aic", "bic", "ebic", "refit", "stars")
# As in plaggm.core, repeated so that help need not load the numerical libraries.
INDICATORS, FORMS = ("ramp", "soft", "hard"), ("auto", "lemma", "supplement")
KERNELS = ("gaussian", "epanechnikov", "triangular", "biweight", "uniform")
VARIANCES = ("function", "conditional", "unit")
# Half-samples; the largest number is beyond all use.
HALVES = Count(100_000)


def _option(
    kind: click.ParamType,
    words: str,
    *,
    metavar: str | None = None,
    usual: str | None = None,
    columns: bool = False,
) -> dict[str, Any]:
    """Describe a setting to the command line.

    Parameters
    ----------
    kind : click.ParamType
        Values that are allowed, on the command line and in a settings file.
    words : str
        Help text.
    metavar : str, optional
        Placeholder of its value in the help.
    usual : str, optional
        Description of the default in the help; the default itself when absent.
    columns : bool
        Whether its values are columns of the table, which a shell can complete.
    """
    completion = {"shell_complete": complete_columns} if columns else {}
    return {"type": kind, "help": words, "metavar": metavar, "usual": usual, **completion}


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings of a run, with what the command line says about each."""

    data: str = field(default="", metadata=_option(UsablePath(), "Table to read."))
    confounder: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            click.STRING,
            "Column that distorts the network; repeat it, or use a pattern, for several.",
            metavar="COL",
            columns=True,
        ),
    )
    columns: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            click.STRING,
            "Variables of the network: names or patterns such as 'roi_*'. All other columns by default.",
            metavar="COL",
            columns=True,
        ),
    )
    exclude: tuple[str, ...] = field(
        default=(),
        metadata=_option(click.STRING, "Columns to leave out.", metavar="COL", columns=True),
    )
    group_by: str | None = field(
        default=None,
        metadata=_option(
            click.STRING,
            "Fit one network for each level of this column.",
            metavar="COL",
            columns=True,
        ),
    )
    threshold: str | tuple[float, ...] = field(
        default="auto",
        metadata=_option(
            Checked("threshold", as_threshold),
            "Size up to which the confounder does no harm, in its own units; with commas for several.",
            metavar="auto|NUMBERS",
        ),
    )
    reference: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            click.STRING,
            "What the network refers to along the confounder: zero (an amount of harm, below a threshold),"
            " average, a value or a level; for one of several as NAME=REFERENCE, repeated.",
            metavar="REF",
            usual="zero for what looks like an amount of harm, else average",
        ),
    )
    categorical: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            click.STRING,
            "Confounder whose numbers are names of levels, such as a site; text is a factor anyway.",
            metavar="COL",
            columns=True,
        ),
    )
    smoother: Smoother = field(
        default="spline",
        metadata=_option(
            click.Choice(("spline", "kernel")),
            "How the distortion is learnt: a penalised spline, or local linear smoothing with a kernel, as "
            "in the paper. The paper's estimator to the letter is --paper.",
        ),
    )
    tau: str | float | None = field(
        default=None,
        metadata=_option(
            Checked("tau", as_tau),
            "Penalty of the spline.",
            metavar="focused|reml|NUMBER",
            usual="focused",
        ),
    )
    indicator: Indicator = field(
        default="ramp",
        metadata=_option(
            click.Choice(INDICATORS),
            "How the kernel passes from harmless to harmful samples at the threshold: along a ramp, softly "
            "as in the paper (1 - exp(-k²g²)/2), or at once; with --smoother kernel.",
        ),
    )
    form: FormChoice = field(
        default="auto",
        metadata=_option(
            click.Choice(FORMS),
            "Form of the smoother's row, of Lemma 2 or of the Supplement; with --smoother kernel.",
            usual="lemma for the soft indicator, else supplement",
        ),
    )
    kernel: str = field(
        default="gaussian",
        metadata=_option(
            click.Choice(KERNELS),
            "Function that weights samples with a similar confounder; with --smoother kernel.",
        ),
    )
    bandwidth: str | tuple[float, ...] = field(
        default="auto",
        metadata=_option(
            Checked("bandwidth", as_bandwidth),
            "Width of the kernel in the confounder's units, with commas for several; by Assumption 1 of "
            "the paper (auto) or by cross-validation; with --smoother kernel.",
            metavar="auto|cv|NUMBERS",
        ),
    )
    ridge: float = field(
        default=0.0,
        metadata=_option(
            Checked("ridge", as_ridge),
            "Added to every local system of the kernel, as a multiple of its diagonal, where systems are "
            "singular; with --smoother kernel.",
            metavar="NUMBER",
        ),
    )
    combine: Literal["product", "norm"] = field(
        default="product",
        metadata=_option(
            click.Choice(("product", "norm")),
            "How several confounders enter the kernel: by the product of a kernel for each, or by their "
            "norm, each divided by its threshold or its root mean square; with --smoother kernel.",
        ),
    )
    variance: Variance = field(
        default="function",
        metadata=_option(
            click.Choice(VARIANCES),
            "Conditional variances: a function of the confounder, constant (conditional), or all one as in "
            "the paper.",
        ),
    )
    standardize: str = field(
        default="yes",
        metadata=_option(
            click.Choice(("yes", "no")),
            "Whether columns are divided by their standard deviation first.",
        ),
    )
    edges: EdgeRule = field(
        default="fdr",
        metadata=_option(
            EDGES,
            "Which pairs are edges: those that pass a test, where there is one, or those of the penalty.",
        ),
    )
    fdr: float | None = field(
        default=None,
        metadata=_option(
            RATE,
            "Expected share of false edges among those that pass, between 0 and 1.",
            metavar="RATE",
            usual="0.05",
        ),
    )
    criterion: Criterion = field(
        default="cv",
        metadata=_option(
            click.Choice(CRITERIA),
            "What chooses the penalty, which ranks the pairs: cv predicts and ranks best, but with --edges "
            "penalty keeps faint edges; bic, ebic and refit keep few false ones.",
        ),
    )
    one_se: bool = field(
        default=False,
        metadata=_option(
            click.BOOL,
            "Take the largest penalty within one standard error of the best, for fewer edges with --edges "
            "penalty; with --criterion cv.",
        ),
    )
    temporal: str | int | None = field(
        default=None,
        metadata=_option(
            TEMPORAL,
            "Rows are time series, in order: filter them by an autoregression whose order BIC chooses, or "
            "that is given.",
            metavar="ar|ORDER",
            usual="ar with --time or --run; otherwise rows are taken as independent",
        ),
    )
    run: str | None = field(
        default=None,
        metadata=_option(
            click.STRING,
            "Column that tells the time series (a scan, a session) of each row.",
            metavar="COL",
            columns=True,
        ),
    )
    time: str | None = field(
        default=None,
        metadata=_option(
            click.STRING,
            "Column with the time of each row: rows are sorted by it within their run, and a series ends "
            "at a gap.",
            metavar="COL",
            columns=True,
        ),
    )
    robust: Robust | None = field(
        default=None,
        metadata=_option(
            click.Choice(("winsor",)),
            "Pull values in that lie more than three robust standard deviations from their variable's "
            "location at the row's confounder.",
            usual="take all values as they are",
        ),
    )
    margins: MarginChoice = field(
        default="gaussian",
        metadata=_option(
            click.Choice(("gaussian", "rank")),
            "Take variables as they are, or replace them by normal scores of their ranks (skewed, "
            "heavy-tailed and ordinal variables).",
        ),
    )
    family: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            click.STRING,
            "Distribution of the variables: gaussian, binomial (0 and 1), poisson (counts), or auto, which "
            "reads the columns; for one of several as COL=FAMILY, repeated.",
            metavar="FAMILY",
            usual="gaussian",
        ),
    )
    na: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            click.STRING,
            "Cell that stands for a missing value, such as -999, beside empty cells, '.', NA and the like.",
            metavar="CELL",
        ),
    )
    missing: str = field(
        default="refuse",
        metadata=_option(
            click.Choice(("refuse", "drop", "em", "impute")),
            "What to do about missing values: refuse them, drop their rows, take what the observed cells "
            "of a row tell of the others (em; standard errors allow for it), or impute them once.",
        ),
    )
    stability: int = field(
        default=20,
        metadata=_option(
            HALVES, "Half-samples for the stability of the edges; 0 for none.", metavar="N"
        ),
    )
    sheet: str | None = field(
        default=None,
        metadata=_option(
            click.STRING, "Sheet of an Excel file.", metavar="NAME", usual="the first"
        ),
    )
    node_groups: str | None = field(
        default=None,
        metadata=_option(
            UsablePath(),
            "Table with the columns variable and group (traits, sectors, brain networks): colours the "
            "variables, and adds bridge centralities.",
            metavar="FILE",
        ),
    )
    truth: str | None = field(
        default=None,
        metadata=_option(
            UsablePath(),
            "The truth.json of simulated data, to show beside the estimate.",
            metavar="FILE",
        ),
    )
    seed: int = field(
        default=0, metadata=_option(SEED, "Seed of folds and of random halves of the samples.")
    )
    jobs: int | None = field(
        default=None, metadata=_option(JOBS, "Cores to use.", metavar="N", usual="-1, all")
    )

    @property
    def series(self) -> str | int | None:
        """The estimators' parameter ``temporal``."""
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
