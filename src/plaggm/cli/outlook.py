"""How long the fits of a run usually take, from their sizes alone, and a word on those that take long."""

from __future__ import annotations

from typing import NamedTuple

from plaggm.wording import counted

# Variables from which on the spline's time grows more slowly: see docs/scale.md.
MANY_VARIABLES = 120
# Seconds from which a run is announced, and from which the kernel smoother is called out of reach.
LONG, OUT_OF_REACH = 120.0, 86_400.0


class UsualSeconds(NamedTuple):
    """Seconds on two cores of a common machine.

    Attributes
    ----------
    plain, adjusted : float
        Fits without and with adjustment, penalties chosen by cross-validation.
    half : float
        A half-sample at one penalty.
    """

    plain: float
    adjusted: float
    half: float


def usual_seconds(n: int, p: int, *, kernel: bool) -> UsualSeconds:
    """Usual times of the fits of n rows and p variables.

    Examples
    --------
    >>> round(usual_seconds(300, 20, kernel=False).adjusted, 2)
    1.16
    """
    cube = float(p) ** 3
    many = p >= MANY_VARIABLES
    plain = 3.0 + 1e-7 * cube if many else 0.2 + 3e-6 * cube
    if kernel:
        return UsualSeconds(plain, 10.0 + 1e-7 * n * cube, 1.0 + 5e-9 * n * cube)
    if many:
        return UsualSeconds(plain, 5.0 + 1.5e-7 * cube, 0.6 + 1e-8 * cube)
    return UsualSeconds(plain, 1.0 + 2e-5 * cube, 0.1 + 1.5e-6 * cube)


def outlook(seconds: float, n: int, p: int, halves: int, *, kernel: bool) -> str | None:
    """A sentence on a run that takes long, with what would be quicker; None for others.

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
    >>> outlook(30.0, 300, 20, 100, kernel=False)
    >>> outlook(7200.0, 900, 1500, 0, kernel=False)
    'Usually takes about 2 hours on two cores.'
    """
    if seconds < LONG:
        return None
    text = f"Usually takes about {duration(seconds)} on two cores."
    if kernel:
        spline = usual_seconds(n, p, kernel=False)
        instead = duration(spline.plain + spline.adjusted + halves * spline.half)
        hopeless = int((OUT_OF_REACH / (1e-7 * n)) ** (1.0 / 3.0))
        text += (
            f" The kernel smoother's time grows with the samples times the cube of the variables: with "
            f"{n} samples more than {hopeless} variables take over a day. --smoother spline takes about "
            f"{instead}."
        )
    elif halves:
        spent = halves * usual_seconds(n, p, kernel=False).half
        if spent > 0.5 * seconds:
            text += f" Of these {duration(spent)} are for {halves} half-samples: --stability 0 omits them."
    return text


def duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> duration(40.0), duration(300.0), duration(7000.0), duration(400_000.0)
    ('40 seconds', '5 minutes', '2 hours', '5 days')
    """
    for size, unit in ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute")):
        if seconds >= 1.5 * size:
            return counted(round(seconds / size), unit)
    return counted(max(1, round(seconds)), "second")
