"""Descriptions of the reference of each method's network."""

from __future__ import annotations

from collections.abc import Mapping

from plaggm.wording import listed

# Methods with one network for all values of the confounder.
ONE_NETWORK = {
    "con-ggm": "all samples, given {names}",
    "lr-ggm": "all samples, {names} regressed out",
    "pooled": "all samples, {names} ignored",
}


def network_meaning(method: str, references: Mapping[str, str | float]) -> str:
    """Description of the reference of a method's network.

    Parameters
    ----------
    method : str
        Key of :data:`plaggm.comparison.METHODS`.
    references : mapping of str to str or float
        The reference of every confounder by its name: ``"zero"``, ``"average"``, a value or a level.

    Examples
    --------
    >>> network_meaning("tv-ggm", {"motion": "zero"})
    'at motion = 0'
    >>> network_meaning("tv-ggm", {"age": "average"})
    'average over age'
    >>> network_meaning("pooled", {"age": "average"})
    'all samples, age ignored'
    """
    names = listed(list(references))
    if method in ONE_NETWORK:
        return ONE_NETWORK[method].format(names=names)
    if method == "ggm":
        return f"samples with little {names}"
    if method == "tv-ggm-average":
        return f"average over {names}"
    place = reference_words(references)
    return f"the bin {place}" if method == "tv-ggm-fused" and place.startswith("at ") else place


def reference_words(references: Mapping[str, str | float]) -> str:
    """Description of the reference of each confounder.

    Examples
    --------
    >>> reference_words({"motion": "zero", "site": "Rome", "age": "average"})
    'at motion = 0, site = Rome, average over age'
    """
    points = [
        f"{name} = {0 if one == 'zero' else one}"
        for name, one in references.items()
        if one != "average"
    ]
    averaged = [name for name, one in references.items() if one == "average"]
    said = [f"at {', '.join(points)}"] if points else []
    if averaged:
        said.append(f"average over {listed(averaged)}")
    return ", ".join(said)


def reference_paragraph(references: Mapping[str, str | float], *, gaussian: bool = True) -> str:
    """A paragraph about the references of the methods' networks."""
    place = reference_words(references)
    if not gaussian:
        return (
            f"The reference is the network {place}. PLA-GGM estimates it from all samples, with any smooth "
            "change along the confounder; MRF with a linear one, or with squares. The pooled network is "
            "one for all values: it differs from the reference wherever the network changes with the "
            "confounder. All methods have the same families."
        )
    return (
        f"The reference is the network {place}. PLA-GGM estimates it from all samples. TV-GGM has a "
        f"network at every value of the confounder, and 'kernel at the reference' is its network {place}; "
        "'fused bins' takes that of the bin, or the average of all bins. CON-GGM, LR-GGM and the pooled "
        "network are one network for all values: they differ from the reference wherever the network "
        "changes with the confounder."
    )
