"""Typical duration of the methods, for progress bars and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Seconds of one fit to variables that are not Gaussian; see SECONDS.
FAMILY_SECONDS = {"spline": 8.0, "ggm": 1.5, "mrf": 12.0, "mrf-squares": 20.0, "pooled": 3.0}
# Seconds of one fit to 500 samples of 20 variables: cross-validation with ten folds of 100 penalties.
SECONDS = {
    "spline": 1.3,
    "paper": 1.1,
    "kernel": 0.9,
    "tv-ggm": 0.4,
    "tv-ggm-average": 3.0,
    "tv-ggm-fused": 23.0,
}
OTHERS = 0.1
FOLDS = 10
# Duration of a fit without cross-validation, as a share of one with it.
WITHOUT_FOLDS = 0.3


def usual_seconds(
    method: str,
    n: int,
    p: int,
    *,
    fits: int,
    folds: int | None = FOLDS,
    averages: bool = False,
    gaussian: bool = True,
) -> float:
    """Typical seconds of some fits of a method in one process.

    Parameters
    ----------
    method : str
        Key of :data:`plaggm.comparison.METHODS`.
    n, p : int
        Samples and variables.
    fits : int
        Number of fits.
    folds : int, optional
        Folds of the cross-validation; None without cross-validation.
    averages : bool
        Whether the reference is the average over the samples, for which TV-GGM estimates many networks.
    gaussian : bool
        Whether all variables are Gaussian.
    """
    known = "tv-ggm-average" if averages and method == "tv-ggm" else method
    seconds = SECONDS if gaussian else FAMILY_SECONDS
    each = seconds.get(known, OTHERS) * (p / 20.0) ** 2 * max(n / 500.0, 1.0) ** 0.5
    return fits * each * (WITHOUT_FOLDS if folds is None else (1.0 + folds) / (1.0 + FOLDS))


def expected_seconds(
    methods: Sequence[str], usual: Mapping[str, float], measured: Mapping[str, float]
) -> dict[str, float]:
    """Expected seconds of methods, from the measured seconds of others.

    Parameters
    ----------
    methods : sequence of str
        Methods without measurement.
    usual : mapping of str to float
        Typical seconds of all methods.
    measured : mapping of str to float
        Measured seconds of some methods.

    Examples
    --------
    >>> expected_seconds(["b"], {"a": 2.0, "b": 6.0}, {"a": 4.0})
    {'b': 12.0}
    """
    known = sum(usual[name] for name in measured)
    pace = sum(measured.values()) / known if known else 1.0
    return {name: pace * usual[name] for name in methods}
