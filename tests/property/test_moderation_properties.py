"""What must hold of tests of changing pairs: units, order and the choice of functions do not matter."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plaggm.core.inference.moderation_tests import moderation_tests
from plaggm.core.inference.score_tests import ModerationTests
from plaggm.core.spline.statistics import no_rows, split_statistics

# Sums in another order, and inverses of matrices whose condition stays below 1e5.
SAME = 1e-6

P, N, GROUPS = 4, 150, 10
OWNERS = np.array([0, 0, 1, 1, 1])
few = settings(max_examples=15)


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.uniform(0.0, 1.0, (N, 2))
    phi = np.column_stack([g[:, 0], g[:, 0] ** 2, g[:, 1], g[:, 1] ** 2, g[:, 1] ** 3])
    z = rng.standard_normal((N, P)) @ (np.eye(P) + 0.3 * rng.standard_normal((P, P)))
    z[:, 0] += z[:, 1] * g[:, 0]
    return z, phi


def run(
    z: np.ndarray, phi: np.ndarray, owners: np.ndarray = OWNERS, labels: np.ndarray | None = None
) -> ModerationTests:
    """Tests, with groups where there are labels."""
    b = np.column_stack([z, np.ones(len(z))])
    numbers = np.arange(len(z)) % GROUPS if labels is None else labels
    parts = split_statistics(b, phi, numbers, GROUPS)
    total = sum(parts, no_rows(phi.shape[1], P + 1))
    basis = SimpleNamespace(size=phi.shape[1], confounders=owners, terms=(), slices=list)
    return moderation_tests(total, basis, groups=() if labels is None else parts)


def assert_same(first: np.ndarray, second: np.ndarray) -> None:
    np.testing.assert_allclose(second, first, rtol=SAME, atol=SAME)


@few
@given(
    st.integers(0, 10_000), st.lists(st.floats(-2.0, 2.0), min_size=P, max_size=P), st.booleans()
)
def test_units_and_signs_of_variables_do_not_matter(seed, exponents, grouped):
    z, phi = data(seed)
    labels = np.random.default_rng(seed).permutation(np.arange(N) % GROUPS) if grouped else None
    sign = np.where(np.arange(P) % 2, -1.0, 1.0)
    other = run(z * 10.0 ** np.array(exponents) * sign, phi, labels=labels)
    assert_same(run(z, phi, labels=labels).p_value, other.p_value)


@few
@given(st.integers(0, 10_000), st.permutations(range(P)), st.permutations(range(GROUPS)))
def test_order_of_rows_columns_and_groups_does_not_matter(seed, order, groups):
    z, phi = data(seed)
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(N) % GROUPS)
    first = run(z, phi, labels=labels)
    shuffled = rng.permutation(N)
    renamed = np.array(groups)[labels]
    second = run(z[shuffled][:, order], phi[shuffled], labels=renamed[shuffled])
    place = np.zeros((P, P), dtype=int)
    upper = np.triu_indices(P, 1)
    place[upper] = np.arange(len(upper[0]))
    place = place + place.T
    back = place[np.array(order)[upper[0]], np.array(order)[upper[1]]]
    assert_same(first.p_value[:, back], second.p_value)


@few
@given(st.integers(0, 10_000), st.booleans())
def test_only_the_span_of_a_confounders_functions_matters(seed, grouped):
    z, phi = data(seed)
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % GROUPS if grouped else None
    mixed = phi.copy()
    for confounder in (0, 1):
        own = np.isin(OWNERS, confounder)
        turn, _ = np.linalg.qr(rng.standard_normal((own.sum(), own.sum())))
        mixed[:, own] = phi[:, own] @ (turn * rng.uniform(0.5, 2.0, own.sum()))
    order = rng.permutation(len(OWNERS))
    second = run(z, mixed[:, order], OWNERS[order], labels)
    assert_same(run(z, phi, labels=labels).p_value, second.p_value)
