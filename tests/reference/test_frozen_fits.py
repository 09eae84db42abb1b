"""Fits of every kind agree with the numbers that were stored before."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import sklearn

# As a part of the largest entry of each array: what rounding in another order of sums leaves.
TOLERANCE = 1e-10
# Subjects' paths stop at a fixed, coarse duality gap, where another processor's rounding is larger.
STUDY_TOLERANCE = 1e-7
# The graphical lasso of scikit-learn before 1.8 stops earlier.
OLD_GLASSO = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
GLASSO_TOLERANCE = 1e-2

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location(
    "generate_frozen_fits", HERE / "generate_frozen_fits.py"
)
frozen = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(frozen)

with np.load(frozen.FILE) as _stored:
    STORED = {key: _stored[key] for key in _stored.files}


def test_every_stored_case_is_run():
    assert {key.split("/")[0] for key in STORED} == set(frozen.CASES)


@pytest.mark.parametrize("name", frozen.CASES)
def test_fit_agrees_with_stored_numbers(name):
    if name.startswith("dask"):
        pytest.importorskip("dask.dataframe")
    found = frozen.run([name])
    stored = {key: value for key, value in STORED.items() if key.split("/")[0] == name}
    assert found.keys() == stored.keys()
    tolerance = STUDY_TOLERANCE if name == "study" else TOLERANCE
    if OLD_GLASSO and "glasso" in name:
        tolerance = GLASSO_TOLERANCE
    for key, expected in stored.items():
        size = np.nanmax(np.abs(expected), initial=0.0)
        np.testing.assert_allclose(
            found[key], expected, rtol=0.0, atol=tolerance * size, equal_nan=True, err_msg=key
        )
