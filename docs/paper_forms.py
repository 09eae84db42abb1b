"""Measures the table "forms" of docs/paper.md: both rows of the smoother under every indicator function.

python docs/paper_forms.py
"""

from __future__ import annotations

import numpy as np

from plaggm import PLAGGMCV
from plaggm.metrics import best_path_auc, edge_auc
from plaggm.simulate import simulate_paper

SEEDS = range(900, 905)
VARIABLES, SAMPLES, THRESHOLD = 10, 800, 100.0


def main() -> None:
    """Print one row for each form and indicator."""
    print(
        "| indicator | form | AUC, 10-fold CV | AUC, best of the path | Frobenius error | failed |"
    )
    print("|---|---|---|---|---|---|")
    for indicator in ("soft", "ramp", "hard"):
        for form in ("lemma", "supplement"):
            scores = []
            for seed in SEEDS:
                data = simulate_paper(VARIABLES, SAMPLES, seed=seed, even=True, threshold=THRESHOLD)
                model = PLAGGMCV(
                    smoother="kernel",
                    indicator=indicator,
                    form=form,
                    variance="unit",
                    threshold=THRESHOLD,
                    edges="penalty",
                    alphas=40,
                    max_iter=200,
                    random_state=seed,
                )
                try:
                    model.fit(data.x, confounder=data.confounder)
                except ValueError:
                    continue
                off = ~np.eye(VARIABLES, dtype=bool)
                scores.append(
                    (
                        edge_auc(model.omega_, data.support),
                        best_path_auc(model.omega_path_, data.support),
                        np.linalg.norm((model.omega_ - data.omega)[off]),
                    )
                )
            failed = len(SEEDS) - len(scores)
            if not scores:
                print(f"| {indicator} | {form} | – | – | – | {failed} of {len(SEEDS)} |")
                continue
            mean = np.mean(scores, axis=0)
            print(
                f"| {indicator} | {form} | {mean[0]:.2f} | {mean[1]:.2f} | {mean[2]:.2f} | "
                f"{failed} of {len(SEEDS)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
