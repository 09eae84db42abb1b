"""The compiled pass over all values gives what the formulas of the families give."""

from __future__ import annotations

import numpy as np

from plaggm.core.families.columns import family_columns
from plaggm.core.families.rows import family_rows


def test_slopes_and_losses_are_those_of_the_formulas():
    rng = np.random.default_rng(0)
    n = 200
    x = np.column_stack(
        [rng.normal(3.0, 2.0, n), rng.uniform(size=n) < 0.2, rng.poisson(2.0, n)]
    ).astype(float)
    columns = family_columns(x, ("gaussian", "binomial", "poisson"))
    rows = family_rows(x, np.zeros((n, 0)), columns).repeated(rng.integers(0, 3, n).astype(float))
    differences = []
    for size in (0.1, 1.0, 3.0):
        eta = rng.normal(0.0, size, x.shape)
        loss, slopes = rows.evaluate(eta)
        known = columns.slopes(x, eta)[0] * rows.counts[:, None]
        np.testing.assert_allclose(slopes, known, rtol=1e-12, atol=1e-12)
        differences.append(rows.loss(eta) - loss)
    # The loss lacks a constant of the rows.
    np.testing.assert_allclose(differences, differences[0], rtol=1e-9)
