"""Implementation of ``plaggm demo``: simulate, fit twice, compare with the truth."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

from plaggm import __version__
from plaggm.cli.demo import DATA
from plaggm.cli.figures import DPI
from plaggm.cli.fitting import Networks, fit_adjusted, fit_unadjusted, with_stability
from plaggm.cli.folder import write_pictures, write_tables
from plaggm.cli.layout import FIGURES
from plaggm.cli.samples import Samples
from plaggm.cli.settings import FitSettings
from plaggm.metrics import recovery_report
from plaggm.plotting import plot_before_after
from plaggm.plotting.figure import save_figure
from plaggm.report import TRUTH_FILE, Truth
from plaggm.result import GraphResult
from plaggm.simulate import Simulated, simulate_paper

# Motion in millimetres, skewed as measured motion is: most of it small, with a long tail. Three quarters of
# the samples are confounded; they hide a network of radius 0.35 behind a dense distortion that levels off
# at nearly twice its size and does not average out.
VARIABLES, SAMPLES = 15, 3000
CONFOUNDER = "motion"
MOTION_SHAPE, MOTION_SCALE = 2.0, 0.15
THRESHOLD = 0.15
DENSITY = 0.15
NETWORK_RADIUS, NUISANCE_RADIUS = 0.35, 0.63
SHAPE = "saturating"
HALVES = 20

PICTURE = "truth.png"
# Decimals of the numbers in the table, which is what the fits use.
DIGITS = 5


class Score(NamedTuple):
    """A row of the table of scores.

    Attributes
    ----------
    key : str
        Name of the score in the recovery report.
    name : str
        Name of the score in the table.
    digits : int
        Number of decimals.
    larger_is_better : bool
    meaning : str
        Explanation in a few words.
    """

    key: str
    name: str
    digits: int
    larger_is_better: bool
    meaning: str

    def written(self, scores: dict[str, float]) -> str:
        """The score as printed."""
        return f"{scores[self.key]:.{self.digits}f}"

    def gain(self, before: dict[str, float], after: dict[str, float]) -> float:
        """Improvement from ``before`` to ``after``, as printed; negative if the score is worse."""
        change = float(self.written(after)) - float(self.written(before))
        return change if self.larger_is_better else -change

    def change(self, before: dict[str, float], after: dict[str, float]) -> str:
        """The change in words."""
        old, new = self.written(before), self.written(after)
        if old == new:
            return f"{self.name} stayed at {new}"
        verb = "rose" if float(new) > float(old) else "fell"
        return f"{self.name} {verb} from {old} to {new}"


TRUE_EDGES = Score("true_edges", "true edges found", 0, True, "edges that are there")
FALSE_EDGES = Score("false_edges", "false edges", 0, False, "edges that are not there")
F1 = Score("f1", "F1", 2, True, "precision and recall combined")
ERROR = Score("frobenius_error", "error", 2, False, "distance to the true network")
SCORES = (
    TRUE_EDGES,
    FALSE_EDGES,
    Score("precision", "precision", 2, True, "share of edges that is true"),
    Score("recall", "recall", 2, True, "share of the truth found"),
    F1,
    Score("auc", "AUC", 2, True, "1 if true edges rank first"),
    ERROR,
)


def simulate(seed: int) -> Simulated:
    """Confounded samples with their true network."""
    # A separate random stream, since the simulation uses the seed itself.
    motion = np.random.default_rng([seed, 1]).gamma(MOTION_SHAPE, MOTION_SCALE, SAMPLES)
    return simulate_paper(
        VARIABLES,
        seed=seed,
        even=True,
        threshold=THRESHOLD,
        density=DENSITY,
        shape=SHAPE,
        confounder=motion,
        target_radius=NETWORK_RADIUS,
        nuisance_radius=NUISANCE_RADIUS,
    )


def table_of(data: Simulated) -> pd.DataFrame:
    """The samples as a table with named columns."""
    return data.to_frame().rename(columns={"confounder": CONFOUNDER}).round(DIGITS)


def settings_for(table: pd.DataFrame, seed: int) -> FitSettings:
    """Settings with which ``plaggm fit`` repeats the fit, with paths relative to the result folder."""
    return FitSettings(
        data=DATA,
        confounder=(CONFOUNDER,),
        columns=tuple(table.columns.drop(CONFOUNDER)),
        threshold=(THRESHOLD,),
        stability=HALVES,
        seed=seed,
        truth=TRUTH_FILE,
    )


def samples_of(table: pd.DataFrame) -> Samples:
    """The table's variables and its confounder."""
    return Samples(table.drop(columns=CONFOUNDER), table[[CONFOUNDER]], "")


def fit_before(table: pd.DataFrame, seed: int) -> GraphResult:
    """The network that all samples show together, its penalty chosen by the data."""
    return fit_unadjusted(samples_of(table), settings_for(table, seed))


def fit_after(table: pd.DataFrame, seed: int, show: Callable[[float], None]) -> GraphResult:
    """The network adjusted for the confounder, with the stability of its edges.

    Parameters
    ----------
    table : DataFrame
    seed : int
    show : callable
        Called with the share of half-samples that are finished, from 0 to 1.

    Returns
    -------
    GraphResult
    """
    samples, settings = samples_of(table), settings_for(table, seed)
    return with_stability(fit_adjusted(samples, settings), samples, settings, show)


def truth_of(data: Simulated, result: GraphResult) -> Truth:
    """The true network, and the true distortion at the confounder values of the result's grid."""
    grid = result.confounder_grid
    nuisance = None if grid is None else data.nuisance(grid)
    return Truth(result.names, data.omega, grid, nuisance)


def write_folder(
    folder: Path,
    before: GraphResult,
    after: GraphResult,
    table: pd.DataFrame,
    truth: Truth,
    seed: int,
) -> None:
    """Write the data, the files of ``plaggm fit`` except the page, and a picture with the truth.

    Parameters
    ----------
    folder : Path
        Existing empty folder.
    before, after : GraphResult
        Networks without and with adjustment.
    table : DataFrame
    truth : Truth
    seed : int
    """
    table.to_csv(folder / DATA, index=False)
    facts = {
        "plaggm": __version__,
        "made_by": f"plaggm demo --seed {seed}",
        "samples": len(table),
        "sha256": hashlib.sha256((folder / DATA).read_bytes()).hexdigest(),
    }
    networks = Networks(before, after)
    write_tables(folder, networks, settings_for(table, seed).to_toml(facts), truth)
    write_pictures(folder, networks)
    draw(before, after, truth, folder / FIGURES / PICTURE)


def recovery(result: GraphResult, data: Simulated) -> dict[str, float]:
    """Scores of a fit, with the numbers of true and false edges.

    Scores of the ranking (AUC, average precision) are those of omega, others those of the declared edges.
    """
    report = recovery_report(result.network, data.omega)
    ranked = recovery_report(result.omega, data.omega)
    report |= {name: ranked[name] for name in ("auc", "average_precision")}
    true = float(np.count_nonzero(np.triu(result.adjacency & data.support, 1)))
    return {"true_edges": true, "false_edges": report["n_edges"] - true, **report}


def draw(before: GraphResult, after: GraphResult, truth: Truth, path: Path) -> None:
    """Save a picture of the true, the unadjusted and the adjusted network side by side."""
    figure = plot_before_after(before, after, truth=truth.omega)
    save_figure(figure, path, dpi=DPI)


def score_table(data: Simulated, scores: dict[str, dict[str, float]]) -> Table:
    """The scores of both fits, the better one in bold."""
    before, after = scores.values()
    free = np.mean(np.abs(data.confounder) <= data.threshold)
    n, p = data.x.shape
    table = Table(
        title=f"{n} samples of {p} variables, {free:.0%} of them unconfounded; "
        f"{before['n_true_edges']:.0f} true edges",
        title_justify="left",
        caption="Edges of both networks passed a test, at a false discovery rate of 5%.",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column()
    for name in scores:
        table.add_column(name, justify="right")
    table.add_column(style="dim")
    for score in SCORES:
        gain = score.gain(before, after)
        old, new = score.written(before), score.written(after)
        table.add_row(score.name, _bold(old, gain < 0), _bold(new, gain > 0), score.meaning)
    return table


def conclusion(before: dict[str, float], after: dict[str, float]) -> str:
    """The conclusion in one sentence.

    Examples
    --------
    >>> before = dict(f1=0.3, frobenius_error=0.9, true_edges=9, false_edges=40, n_true_edges=9)
    >>> conclusion(before, {**before, "f1": 0.2, "frobenius_error": 1.1})
    'Adjusting for motion did not help here: F1 fell from 0.30 to 0.20, error rose from 0.90 to 1.10,
    false edges stayed at 40, true edges found stayed at 9 of 9.'
    """
    gains = [score.gain(before, after) for score in (F1, ERROR)]
    if all(gain == 0.0 for gain in gains):
        verdict = "made no difference"
    elif all(gain >= 0.0 for gain in gains):
        verdict = "helped"
    elif all(gain <= 0.0 for gain in gains):
        verdict = "did not help here"
    else:
        verdict = "helped in part only"
    changes = ", ".join(
        score.change(before, after) for score in (F1, ERROR, FALSE_EDGES, TRUE_EDGES)
    )
    return f"Adjusting for {CONFOUNDER} {verdict}: {changes} of {before['n_true_edges']:.0f}."


def _bold(text: str, better: bool) -> str:
    return f"[bold]{text}[/bold]" if better else text
