"""Parameters of :class:`plaggm.PLAGGMCV` under which it is exactly the estimator of the paper.

Lemma 2's row and auxiliary matrix, the indicator function of Section 6, the bandwidth of Assumption 1, unit
conditional variances, and ten-fold cross-validation. Data without unit conditional variances are
standardised first ("without loss of generality", Section 2).
"""

from __future__ import annotations

from typing import Any

# Parameters of the smoother and the model.
PAPER_MODEL: dict[str, Any] = dict(
    smoother="kernel",
    indicator="soft",
    form="lemma",
    kernel="gaussian",
    bandwidth="auto",
    ridge=0.0,
    variance="unit",
)
# Parameters of the choice of the penalty and of the edges.
PAPER_CHOICE: dict[str, Any] = dict(criterion="cv", one_se=False, edges="penalty")
