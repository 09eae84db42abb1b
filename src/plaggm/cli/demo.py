"""``plaggm demo``: the main job on simulated data whose true network is known."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from plaggm.cli.messages import InputError, warnings_as_lines
from plaggm.cli.progress import steps
from plaggm.cli.staging import staged_folder, write_errors
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

PICTURE, RESULT, TABLE = "network.png", "result", "scores.csv"
PICTURE_DPI = 150

# Usual seconds of each step in a first run, most of which go into compiling.
SIMULATE, IGNORE, ADJUST, DRAW = (
    "simulating",
    "fitting without adjustment",
    "fitting with adjustment",
    "drawing",
)
STEPS = {SIMULATE: 0.5, IGNORE: 10.0, ADJUST: 25.0, DRAW: 2.0}


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


TRUE_EDGES = Score("true_edges", "true edges found", 0, True, "")
FALSE_EDGES = Score("false_edges", "false edges", 0, False, "none is perfect")
F1 = Score("f1", "F1", 2, True, "precision and recall in one number")
ERROR = Score("frobenius_error", "error", 2, False, "distance to the true network; 0 is perfect")
SCORES = (
    TRUE_EDGES,
    FALSE_EDGES,
    Score("precision", "precision", 2, True, "true edges among those found"),
    Score("recall", "recall", 2, True, "true edges that were found"),
    F1,
    Score("auc", "AUC", 2, True, "are true edges the strongest? 1 is perfect"),
    ERROR,
)


@click.command(epilog="Example:  plaggm demo --seed 1 --output my-demo")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the data."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("plaggm-demo"),
    show_default=True,
    help="Folder for the picture, the scores and the result.",
)
@click.option("--force", is_flag=True, help="Replace what an earlier run wrote to the folder.")
@click.option("--quiet", is_flag=True, help="Print the last line only.")
def demo(seed: int, output: Path, force: bool, quiet: bool) -> None:
    """Recover a known network from confounded data, with and without adjustment.

    Simulates samples whose network is distorted by a confounder, fits the model once without and once
    with the confounder, and compares both to the truth.
    """
    _use_files_only()
    with staged_folder(output, (PICTURE, RESULT, TABLE), force=force) as folder:
        with warnings_as_lines(), steps(STEPS, quiet=quiet) as begin:
            begin(SIMULATE)
            data = simulate(seed)
            begin(IGNORE)
            before = fit(data, adjust=False)
            begin(ADJUST)
            after = fit(data, adjust=True)
            begin(DRAW)
            scores = {
                "without adjustment": recovery(before, data),
                "with adjustment": recovery(after, data),
            }
            with write_errors(output):
                draw(before, after, data, folder / PICTURE)
                after.save(folder / RESULT)
                pd.DataFrame(scores).T.to_csv(folder / TABLE, index_label="fit")
    if not quiet:
        Console().print(score_table(data, scores))
    click.echo(f"{lesson(*scores.values())} Picture: {output / PICTURE}")


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


def _use_files_only() -> None:
    """Draw without a window, or say what is missing before any work is done."""
    try:
        import matplotlib
    except ImportError:
        raise InputError("The demo draws a picture: pip install 'plaggm[cli,plot]'") from None
    matplotlib.use("Agg")
