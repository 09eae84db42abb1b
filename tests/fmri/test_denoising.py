"""Denoising strategies against nilearn's, and what they leave of subjects."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from plaggm.estimators import PLAGGM
from plaggm.fmri import StudyResult
from plaggm.fmri.atlas import name_regions
from plaggm.fmri.confounds import SIX, ConfoundsError
from plaggm.fmri.denoise_table import compare_strategies
from plaggm.fmri.denoising import (
    STRATEGIES,
    denoise,
    denoise_series,
    expanded,
    kept_volumes,
    parse_strategy,
    regressors,
)
from plaggm.fmri.motion import no_edge_varies, residual_motion
from plaggm.fmri.participants import Scan
from plaggm.fmri.problems import Problems, StudyError
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.subjects import StudyData, Subject, standardised
from plaggm.fmri.treatments import make_treatment
from plaggm.report.study import study_summary
from plaggm.report.study_motion import cost_words, dependence_words, unvarying_words
from plaggm.resume import Store

N = 160


def confounds(seed, spikes=()):
    """A table of confounds as fMRIPrep writes it, with derivatives and squares."""
    rng = np.random.default_rng(seed)
    base = {name: np.cumsum(rng.standard_normal(N)) for name in SIX}
    base |= {name: rng.standard_normal(N) for name in ("white_matter", "csf", "global_signal")}
    table = {}
    for name, values in base.items():
        change = np.concatenate([[np.nan], np.diff(values)])
        table |= {name: values, f"{name}_derivative1": change}
        table |= {f"{name}_power2": values**2, f"{name}_derivative1_power2": change**2}
    moved = 0.1 + 0.02 * rng.random(N)
    moved[list(spikes)] = 0.8
    moved[0] = np.nan
    table |= {"framewise_displacement": moved, "std_dvars": np.where(np.isnan(moved), np.nan, 1.0)}
    table |= {f"cosine0{k}": np.cos(np.pi * (k + 1) * (np.arange(N) + 0.5) / N) for k in range(2)}
    table |= {f"a_comp_cor_0{k}": rng.standard_normal(N) for k in range(3)}
    return pd.DataFrame(table)


def explained(series, design):
    """Part of the series that is linear in a design."""
    full = np.column_stack([np.ones(len(design)), design])
    return full @ np.linalg.lstsq(full, series, rcond=None)[0]


@pytest.mark.parametrize("name", ["24p", "simple", "simple+gs", "scrubbing.5"])
def test_strategies_span_what_nilearn_takes(tmp_path, name):
    fmriprep = pytest.importorskip("nilearn.interfaces.fmriprep")
    table = confounds(0, spikes=(40, 90))
    stem = tmp_path / "sub-01_task-rest_space-MNI152NLin2009cAsym"
    table.to_csv(
        tmp_path / "sub-01_task-rest_desc-confounds_timeseries.tsv",
        sep="\t",
        index=False,
        na_rep="n/a",
    )
    (tmp_path / "sub-01_task-rest_desc-confounds_timeseries.json").write_text("{}")
    image = f"{stem}_desc-preproc_bold.nii.gz"
    strategy = parse_strategy(name)
    parts = ["motion"] + (["high_pass"] if strategy.drift else [])
    parts += (["wm_csf"] if strategy.tissues else []) + (["global_signal"] * strategy.global_signal)
    further = dict(scrub=5, fd_threshold=0.5, std_dvars_threshold=1.5) if "scrub" in name else {}
    theirs, mask = fmriprep.load_confounds(
        image,
        strategy=(*parts, "scrub") if further else tuple(parts),
        motion="full",
        wm_csf="full" if strategy.whole_tissues else "basic",
        **further,
    )
    kept = kept_volumes(table, strategy.scrub)
    expected = np.arange(N) if mask is None else mask
    np.testing.assert_array_equal(np.flatnonzero(kept), expected)
    rows = np.setdiff1d(np.flatnonzero(kept), [0])
    series = np.random.default_rng(1).standard_normal((N, 4))[rows]
    # The first volume, which has no derivative, is filled in differently.
    found = explained(series, regressors(table, strategy)[rows])
    np.testing.assert_allclose(found, explained(series, theirs.to_numpy()[rows]), atol=1e-6)


def test_compcor_and_its_absence():
    table = confounds(1)
    assert regressors(table, STRATEGIES["compcor"]).shape[1] == 24 + 3 + 2
    with pytest.raises(ConfoundsError, match="no columns of anatomical CompCor"):
        regressors(table.drop(columns=table.filter(like="a_comp")), STRATEGIES["compcor"])


def test_short_stretches_between_spikes_go():
    table = confounds(2, spikes=(20, 24, 60))
    kept = kept_volumes(table, 0.5)
    assert np.flatnonzero(~kept).tolist() == [20, 21, 22, 23, 24, 60]
    assert kept_volumes(table, np.inf).all()


def test_residuals_are_orthogonal_to_the_regressors():
    rng = np.random.default_rng(3)
    design, kept = expanded(rng.standard_normal((N, 2))), rng.random(N) > 0.1
    left = denoise_series(rng.standard_normal((N, 3)), design, kept)
    assert left.shape == (np.count_nonzero(kept), 3)
    assert np.abs(left.T @ design[kept]).max() < 1e-8


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(4)
    subjects = []
    for k in range(8):
        table = confounds(10 + k, spikes=rng.integers(5, N, size=3 * k))
        path = tmp_path / f"sub-{k}_confounds.tsv"
        table.to_csv(path, sep="\t", index=False, na_rep="n/a")
        moved = table["framewise_displacement"].fillna(0.0).to_numpy()
        x = standardised(rng.standard_normal((N, 4)) + moved[:, None])
        scan = Scan(confounds=path)
        subjects.append(Subject(f"sub-{k}", "ab"[k % 2], x, moved[:, None], moved, scans=(scan,)))
    return StudyData(tuple(subjects), name_regions(4, None, None), ("framewise_displacement",))


def test_scrubbed_subjects_keep_their_mean_displacement(study):
    found = denoise(study, parse_strategy("scrubbing.5"), Problems())
    np.testing.assert_allclose(found.mean_displacement, study.mean_displacement)
    last = found.subjects[-1]
    assert len(last.x) == len(last.confounder) == len(last.segments) < N
    # A filter stays within stretches; offsets and units are those of the run.
    assert last.unbroken.max() > 1
    assert last.runs is None
    assert last.spent == 24 + 8 + 2
    first = found.subjects[0]
    assert first.segments is None


def test_who_has_nothing_left_is_named(study):
    still = replace(
        study.subjects[0], scans=(Scan(confounds=study.subjects[0].scans[0].confounds),)
    )
    lost = replace(study.subjects[1], scans=())
    problems = Problems()
    found = denoise(replace(study, subjects=(still, lost)), parse_strategy("24p"), problems)
    assert [one.name for one in found.subjects] == ["sub-0"]
    assert "sub-1: --denoise 24p: has no table of confounds." in str(problems)
    with pytest.raises(StudyError, match="Nobody is left"):
        denoise(study, replace(STRATEGIES["scrubbing.2"], scrub=0.0), Problems())


def test_a_global_signal_that_is_the_mean_of_all_regions_is_refused(study, tmp_path):
    """What it leaves adds up to zero, and has no partial correlations."""
    first, *others = study.subjects
    table = pd.read_csv(first.scans[0].confounds, sep="\t")
    table["global_signal"] = first.x.mean(axis=1)
    path = tmp_path / "exact.tsv"
    table.to_csv(path, sep="\t", index=False, na_rep="n/a")
    data = replace(study, subjects=(replace(first, scans=(Scan(confounds=path),)), *others))
    problems = Problems()
    found = denoise(data, parse_strategy("wm_csf+gs"), problems)
    assert [one.name for one in found.subjects] == [one.name for one in others]
    assert "sub-0: --denoise wm_csf+gs: leaves regions that follow exactly" in str(problems)
    assert len(denoise(data, parse_strategy("wm_csf"), Problems()).subjects) == len(study.subjects)


def test_strategies_in_one_table(study, tmp_path):
    plan = StudyPlan(tmp_path, "group", ("fd",), tmp_path, threshold=0.3, temporal=None)
    store, problems = Store(tmp_path / "cache"), Problems()
    nobody = replace(STRATEGIES["scrubbing.2"], scrub=0.0)
    strategies = [parse_strategy("24p"), nobody]
    both = compare_strategies(plan, study, strategies, store=store, settings={}, problems=problems)
    (told,) = problems
    assert told.message.startswith("Nobody is left by --denoise scrubbing.2; for example sub-0: ")
    assert both["method"].tolist()[6:] == ["nobody is left"]
    table = both[:6]
    assert list(table["denoising"]) == ["none"] * 3 + ["24p"] * 3
    assert list(table["subjects"]) == [8] * 6
    volumes = table.set_index(["denoising", "method"])["effective_volumes"]
    assert volumes["none", "no adjustment"] == N
    assert volumes["24p", "no adjustment"] == N - 24
    assert table["part_below_0.05"].between(0, 1).all()


def test_page_tells_what_adjusting_costs_beside_denoising(study):
    """Degrees of freedom that denoising spent are not put down to the methods that follow."""
    networks = {
        "raw": SimpleNamespace(effective=np.array([N - 24.0])),
        "lr": SimpleNamespace(effective=np.array([N - 25.0])),
    }
    motion = {"raw": SimpleNamespace(p_value=0.001, short_range_p_value=0.5)}
    found = denoise(study, parse_strategy("24p"), Problems())
    told = cost_words(SimpleNamespace(data=found, networks=networks, motion=motion, groups={}))
    assert told == [
        f"Of {N - 24} volumes of a subject that denoising leaves, adjusting costs the worth of: LR-GGM 1."
    ]
    networks["lr"].effective += 24.0
    (plain,) = cost_words(SimpleNamespace(data=study, networks=networks, motion=motion, groups={}))
    assert plain == f"Of {N} volumes of a subject, adjusting costs the worth of: LR-GGM 1."


def test_cost_of_a_method_is_that_of_whom_it_can_fit(study):
    """Who has two runs may be the only one whom a method can fit: that is no gain."""
    first, second, *others = study.subjects
    x = np.concatenate([first.x, first.x])
    longer = replace(first, x=x, confounder=np.concatenate([first.confounder] * 2))
    data = replace(study, subjects=(longer, second, *others))
    rest = np.full(len(others) + 1, np.nan)
    networks = {"kernel": SimpleNamespace(effective=np.concatenate([[2 * N - 5.0], rest]))}
    motion = {"raw": SimpleNamespace(p_value=0.001, short_range_p_value=0.5)}
    told = cost_words(SimpleNamespace(data=data, networks=networks, motion=motion, groups={}))
    assert told[0].endswith("PLA-GGM, kernel, own R 5.")


def test_own_nuisance_counts_what_denoising_spent(study):
    found = denoise(study, parse_strategy("24p"), Problems())
    treatment = make_treatment("pla-own", PLAGGM(threshold=0.3), found.confounder_names)
    mover = found.subjects[-1]
    before = treatment.problem(replace(mover, spent=0.0)).effective
    assert treatment.problem(mover).effective == pytest.approx(before - 24)


@pytest.mark.parametrize(("p_values", "there"), [((0.04, 0.3), False), ((0.005, 0.3), True)])
def test_motion_is_not_called_harmless_where_networks_depend_on_it(study, p_values, there):
    """QC-FC sees only what grows with a person's mean; the test of R = 0 sees volumes."""
    networks = {"pla": SimpleNamespace(effective=np.array([N - 9.0]))}
    unseen = SimpleNamespace(p_value=0.4, short_range_p_value=np.nan, significant=0.05, chance=0.09)
    groups = {
        ("pla", group): SimpleNamespace(diagnostics={"confounding_p_value": p_value})
        for group, p_value in zip(("a", "b"), p_values, strict=True)
    }
    groups["lr", "a"] = SimpleNamespace(diagnostics={})
    found = SimpleNamespace(data=study, networks=networks, motion={"raw": unseen}, groups=groups)
    (told,) = cost_words(found)
    assert "5.0% of their edges correlate with mean displacement, and chance reaches 9.0%." in told
    assert ("It is there all the same" in told) is there
    assert ("adjusting has little to remove" in told) is not there
    (said,) = dependence_words(found)
    assert said == (
        "Does the network change with framewise_displacement? PLA-GGM, spline, shared R: "
        f"a p = {p_values[0]}, b p = {p_values[1]}."
    )


def test_networks_that_are_the_same_in_everybody_have_nothing_to_correlate(study):
    """The lasso may leave no edge in anybody: the page says so, and prints no number that is none."""
    moved = study.mean_displacement
    empty = residual_motion(np.zeros((len(moved), 6)), moved, None)
    assert no_edge_varies(empty)
    assert np.isnan([empty.significant, empty.chance, empty.p_value]).all()
    effective = SimpleNamespace(effective=np.full(len(moved), N - 9.0))
    found = SimpleNamespace(
        data=study, networks={"pla": effective}, motion={"pla": empty, "raw": empty}, groups={}
    )
    (said,) = unvarying_words(found)
    assert said.startswith(
        "No edge varies across subjects in the networks by PLA-GGM, spline, shared R; no adjustment:"
    )
    (price,) = cost_words(found)
    assert price.startswith(f"Of {N} volumes of a subject, adjusting costs")
    varying = residual_motion(np.random.default_rng(0).random((len(moved), 6)), moved, None)
    found.motion = {"raw": varying}
    assert unvarying_words(found) == []


def test_page_opens_with_denoising_and_regions(study, tmp_path):
    plan = StudyPlan(tmp_path, "group", ("fd",), tmp_path, denoise=("24p",), methods=("raw",))
    data = replace(study, atlas=replace(study.atlas, title="places.csv"))
    result = StudyResult(data, Problems(), {}, {}, {}, {}, {}, [], None)
    words = " ".join(study_summary(plan, result))
    assert "Networks of the 4 regions of places.csv without the influence of framewise" in words
    assert "All series were denoised by `24p` first" in words
    assert "denoised" not in " ".join(study_summary(replace(plan, denoise=()), result))
