"""A note on runs that usually take long, with faster alternatives."""

from __future__ import annotations

from plaggm.core.cost.fit_time import KERNEL_PACE, duration, usual_seconds

# Seconds from which a run is announced, and from which the kernel smoother is called out of reach.
LONG, OUT_OF_REACH = 120.0, 86_400.0


def duration_notice(seconds: float, n: int, p: int, halves: int, *, kernel: bool) -> str | None:
    """A sentence on a run that takes long, with faster alternatives; None for others.

    Parameters
    ----------
    seconds : float
        Usual time of the whole run.
    n, p : int
        Rows and variables of its largest part.
    halves : int
        Half-samples.
    kernel : bool
        Whether the kernel smoother is used.

    Examples
    --------
    >>> duration_notice(30.0, 300, 20, 100, kernel=False)
    >>> duration_notice(7200.0, 900, 1500, 0, kernel=False)
    'Usually takes about 2 hours on two cores.'
    """
    if seconds < LONG:
        return None
    text = f"Usually takes about {duration(seconds)} on two cores."
    if kernel:
        spline = usual_seconds(n, p, kernel=False)
        instead = duration(spline.plain + spline.adjusted + halves * spline.single)
        hopeless = int((OUT_OF_REACH / (KERNEL_PACE * n)) ** (1.0 / 3.0))
        text += (
            f" The kernel smoother's time grows with the samples times the cube of the variables: with "
            f"{n} samples more than {hopeless} variables take over a day. --smoother spline takes about "
            f"{instead}."
        )
    elif halves:
        spent = halves * usual_seconds(n, p, kernel=False).single
        if spent > 0.5 * seconds:
            text += f" Of these {duration(spent)} are for {halves} half-samples: --stability 0 omits them."
    return text
