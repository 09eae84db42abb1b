"""Diagnosis on studies whose truth is known: 40 patients and 40 controls, 150 volumes, 48 regions."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.fmri.diagnosis import classify
from plaggm.fmri.fold_networks import fold_features, splits
from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
from plaggm.fmri.treatments import make_treatment

pytestmark = pytest.mark.slow

PER_GROUP = 40


def diagnoses(difference: float, seed: int) -> dict[str, object]:
    motion = simulated_motion(PER_GROUP, seed=seed)
    data, _ = semisynthetic_study(motion, seed=seed, matched=True, difference=difference)
    y = data.membership
    folds = splits(y, 1, seed)
    found = {}
    for name in ("pla", "lr", "raw"):
        treatment = make_treatment(name, PLAGGM(n_jobs=1), data.confounder_names)
        features = fold_features(treatment, data.subjects, folds, criterion="aic", n_jobs=2)
        found[name] = classify(name, features, y, kind="values", criterion="aic", n_jobs=2)
    return found


def test_networks_without_motion_diagnose_better():
    gains = []
    for seed in (0, 1, 2):
        found = diagnoses(0.04, seed)
        gains.append(found["pla"].path_auc.mean() - found["lr"].path_auc.mean())
        assert found["pla"].low > 0.5
    assert np.mean(gains) > 0.0


def test_no_method_finds_what_is_not_there():
    found = diagnoses(0.0, 3)
    for one in found.values():
        assert one.low <= 0.5 <= one.high
