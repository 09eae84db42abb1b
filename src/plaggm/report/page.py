"""Render the page and write it into a result folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from plaggm.atomic_files import remove_unfinished, write_file
from plaggm.evidence import WORTH_REPORTING
from plaggm.report.certainty import curve_words
from plaggm.report.facts import diagnostic_facts, setting_facts, version_facts
from plaggm.report.node_groups import NODE_GROUPS_FILE, read_node_groups
from plaggm.report.payload import page_payload
from plaggm.report.phrases import change_rate
from plaggm.report.references import baseline_meaning
from plaggm.report.rendering import render_page
from plaggm.report.truth import TRUTH_FILE, Truth, read_truth
from plaggm.report.words import summarise
from plaggm.result import GraphResult
from plaggm.result_reading import read_result
from plaggm.wording import shown

REPORT_FILE = "report.html"
UNADJUSTED = "unadjusted"
# In this order: each file uses what those before it define.
SCRIPTS = (
    "data.js",
    "shapes.js",
    "charts.js",
    "network.js",
    "neighbourhood.js",
    "matrix.js",
    "curves.js",
    "forest.js",
    "centrality.js",
    "moderation.js",
    "table.js",
    "page.js",
)


def write_report(folder: str | os.PathLike[str]) -> Path:
    """Make the page ``report.html`` of a result folder.

    The page is about the folder's own result. A result in ``unadjusted`` below it, the network of the same
    variables without the confounder, is shown beside it, as is the true network of simulated data,
    ``truth.json``. A ``node_groups.csv`` colours the variables. An earlier page is replaced atomically.

    Parameters
    ----------
    folder : path
        Written by :meth:`plaggm.GraphResult.save`.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> import tempfile
    >>> from plaggm import PLAGGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(4, n=200, seed=0)
    >>> result = PLAGGM(0.05).fit(data.x, confounder=data.confounder).to_result()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(result.save(Path(folder) / "network"))
    >>> page.name
    'report.html'
    """
    folder = Path(folder)
    page = folder_page(folder)
    remove_unfinished(folder)
    return write_file(folder / REPORT_FILE, page)


def folder_page(folder: Path) -> bytes:
    """The content of the page of a result folder; see :func:`write_report`.

    Examples
    --------
    >>> import tempfile
    >>> from plaggm import PLAGGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(4, n=200, seed=0)
    >>> result = PLAGGM(0.05).fit(data.x, confounder=data.confounder).to_result()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     content = folder_page(result.save(Path(folder) / "network"))
    >>> content[:15]
    b'<!doctype html>'
    """
    result = read_result(folder)
    beside = folder / UNADJUSTED
    unadjusted = read_result(beside) if beside.is_dir() else None
    if unadjusted is not None and unadjusted.names != result.names:
        raise ValueError(f"{beside} is about other variables than the result around it.")
    known = folder / TRUTH_FILE
    truth = read_truth(known, result.names) if known.is_file() else None
    grouped = folder / NODE_GROUPS_FILE
    groups = read_node_groups(grouped, result.names) if grouped.is_file() else None
    page = render_report(result, unadjusted=unadjusted, truth=truth, groups=groups)
    # Names from a file may contain lone surrogates, which UTF-8 cannot encode.
    return page.encode("utf-8", errors="replace")


def render_report(
    result: GraphResult,
    *,
    unadjusted: GraphResult | None = None,
    truth: Truth | None = None,
    groups: Mapping[str, str] | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    result : GraphResult
        Network to show.
    unadjusted : GraphResult, optional
        The network of the same variables without the confounder.
    truth : Truth, optional
        The true network of simulated data.
    groups : mapping of str, optional
        Group of every variable by its name, which colours the variables.

    Returns
    -------
    str
        HTML that loads nothing from elsewhere.

    Examples
    --------
    >>> from plaggm import PLAGGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(4, n=200, seed=0)
    >>> result = PLAGGM(0.05).fit(data.x, confounder=data.confounder).to_result()
    >>> render_report(result)[:15]
    '<!doctype html>'
    """
    _check(result, "result")
    if unadjusted is not None:
        _check(unadjusted, "unadjusted")
    words = summarise(result, unadjusted, truth)
    payload = page_payload(result, unadjusted, truth, groups)
    curve, explanation = curve_words(result)
    return render_page(
        "report.html.j2",
        scripts=SCRIPTS,
        payload=payload,
        strength=payload["strength"],
        words=words,
        result=result,
        unadjusted=unadjusted,
        truth=truth,
        curve=curve,
        curve_explanation=explanation,
        diagnostics=diagnostic_facts(result),
        settings=setting_facts(result),
        versions=version_facts(result),
        shown=unadjusted if words.opening.lead == "unadjusted" else result,
        worth_reporting=WORTH_REPORTING,
        fdr=result.fdr,
        grouped=payload["groups"] is not None,
        communities=payload["communities"] is not None,
        bounded=payload["centrality"][0]["low"] is not None,
        references=baseline_meaning(result),
        has_path=payload["path"] is not None,
        has_curve=payload["path"] is not None and payload["path"]["criterion"] is not None,
        change_rate=change_rate(result),
        has_nuisance=bool(payload["along"]),
        listed=None if payload["pairs"] is None else payload["listed"],
        total=payload["total"],
        has_sample=bool(payload["sample"]),
    )


def _check(network: GraphResult, name: str) -> None:
    if not isinstance(network, GraphResult):
        raise TypeError(
            f"{name} must be a GraphResult, such as model.to_result(); got {shown(network)}."
        )
    if len(network.names) < 2:
        raise ValueError(f"The {name} has {len(network.names)} variables; a network needs two.")
    if not np.isfinite(network.omega).all():
        raise ValueError(f"The network of the {name} holds numbers that are not finite.")
