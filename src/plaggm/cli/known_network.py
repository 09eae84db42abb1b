"""The work of ``plaggm demo``: simulate, fit twice, compare with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from plaggm.estimators import PLAGGMCV
from plaggm.metrics import recovery_report
from plaggm.plotting import plot_before_after
from plaggm.result import GraphResult
from plaggm.simulate import Simulated, simulate_paper

# A fifth of the samples is unconfounded; the rest hides a network of radius 0.35 behind a dense
# distortion that levels off at nearly twice its size and does not average out.
VARIABLES, SAMPLES = 15, 3000
THRESHOLD = 80.0
DENSITY = 0.15
TARGET_RADIUS, NUISANCE_RADIUS = 0.35, 0.63
SHAPE = "saturating"
# Both networks are chosen in the same way.
CRITERION = "cv"

PICTURE_DPI = 150


class Score(NamedTuple):
    """A row of the table: where a score is found, how it is written, and what it means."""

    key: str
    name: str
    digits: int
    larger_is_better: bool
    meaning: str

    def written(self, scores: dict[str, float]) -> str:
        """The score as printed."""
        return f"{scores[self.key]:.{self.digits}f}"

    def gain(self, before: dict[str, float], after: dict[str, float]) -> float:
        """How much better the second is, as printed; negative if it is worse."""
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
    return simulate_paper(
        VARIABLES,
        SAMPLES,
        seed=seed,
        even=True,
        threshold=THRESHOLD,
        density=DENSITY,
        shape=SHAPE,
        target_radius=TARGET_RADIUS,
        nuisance_radius=NUISANCE_RADIUS,
    )


def fit(data: Simulated, *, adjust: bool) -> GraphResult:
    """The network with its penalty chosen by the data, with or without the confounder."""
    frame = data.to_frame()
    confounder = frame.pop("confounder")
    if not adjust:
        return PLAGGMCV(criterion=CRITERION).fit(frame).to_result()
    model = PLAGGMCV(criterion=CRITERION, threshold=data.threshold)
    return model.fit(frame, confounder=confounder).to_result()


def recovery(result: GraphResult, data: Simulated) -> dict[str, float]:
    """All scores of a fit, with the numbers of true and false edges."""
    report = recovery_report(result.omega, data.omega)
    true = float(np.count_nonzero(np.triu(result.adjacency & data.support, 1)))
    return {"true_edges": true, "false_edges": report["n_edges"] - true, **report}


def draw(before: GraphResult, after: GraphResult, data: Simulated, path: Path) -> None:
    """Save truth, unadjusted and adjusted network side by side."""
    from matplotlib import pyplot as plt

    figure = plot_before_after(before, after, truth=data.omega)
    try:
        figure.savefig(path, dpi=PICTURE_DPI)
    finally:
        plt.close(figure)


def score_table(data: Simulated, scores: dict[str, dict[str, float]]) -> Table:
    """What was recovered by each fit, the better one of every score in bold."""
    before, after = scores.values()
    free = np.mean(np.abs(data.confounder) <= data.threshold)
    n, p = data.x.shape
    table = Table(
        title=f"{n} samples of {p} variables, {free:.0%} of them unconfounded; "
        f"{before['n_true_edges']:.0f} true edges",
        title_justify="left",
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


def lesson(before: dict[str, float], after: dict[str, float]) -> str:
    """What the numbers say, in one sentence.

    Examples
    --------
    >>> before = dict(f1=0.3, frobenius_error=0.9, true_edges=9, false_edges=40, n_true_edges=9)
    >>> lesson(before, {**before, "f1": 0.2, "frobenius_error": 1.1})
    'Adjusting for the confounder did not help here: F1 fell from 0.30 to 0.20, error rose from 0.90 to
    1.10, false edges stayed at 40, true edges found stayed at 9 of 9.'
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
    return f"Adjusting for the confounder {verdict}: {changes} of {before['n_true_edges']:.0f}."


def _bold(text: str, better: bool) -> str:
    return f"[bold]{text}[/bold]" if better else text
