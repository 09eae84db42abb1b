"""The network in the formats of other programs, written without their libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plaggm.atomic_files import new_file, write_file

if TYPE_CHECKING:
    import igraph

Array = NDArray[np.float64]

GRAPHML = "http://graphml.graphdrawing.org/xmlns"
GEXF = "http://gexf.net/1.3"
# What XML cannot hold, not even escaped.
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Radius in millimetres of the circle on which BrainNet Viewer finds variables without coordinates: it
# lies inside its standard brain.
CIRCLE = 60.0
BRAINNET = (".node", ".edge")


@dataclass(frozen=True, slots=True)
class Network:
    """What is exported.

    Attributes
    ----------
    names : tuple of p str
    omega : ndarray of shape (p, p)
        Partial correlations off the diagonal.
    stability : ndarray of shape (p, p) or None
    """

    names: tuple[str, ...]
    omega: Array
    stability: Array | None = None

    def edges(self) -> Iterator[tuple[int, int, float, float | None]]:
        """Both ends, the partial correlation and the stability of every edge."""
        for j, k in zip(*np.nonzero(np.triu(self.omega, 1)), strict=True):
            stability = None if self.stability is None else float(self.stability[j, k])
            yield int(j), int(k), float(self.omega[j, k]), stability


def export_network(
    network: Network, path: Path, coordinates: ArrayLike | None = None
) -> tuple[Path, ...]:
    """Write a network in the format that the ending of the name stands for.

    Parameters
    ----------
    network : Network
    path : Path
        Ending in ``.graphml``, ``.gexf``, ``.node`` or ``.edge``.
    coordinates : array of shape (p, 3), optional
        For BrainNet Viewer.

    Returns
    -------
    tuple of Path
        The files written.
    """
    if coordinates is not None and path.suffix not in BRAINNET:
        raise ValueError(f"coordinates are for BrainNet Viewer ({', '.join(BRAINNET)}) only.")
    if path.suffix == ".graphml":
        _write_xml(graphml_tree(network), path)
    elif path.suffix == ".gexf":
        _write_xml(gexf_tree(network), path)
    elif path.suffix in BRAINNET:
        nodes, edges = brainnet_text(network, coordinates)
        files = (path.with_suffix(".node"), path.with_suffix(".edge"))
        for file, text in zip(files, (nodes, edges), strict=True):
            write_file(file, text)
        return files
    else:
        raise ValueError(
            f"{path.name!r} ends in no known format; use .graphml (igraph, networkx, Cytoscape), .gexf "
            "(Gephi), or .node and .edge (BrainNet Viewer)."
        )
    return (path,)


def graphml_tree(network: Network) -> Xml.Element:
    """GraphML with the attributes name, weight (the partial correlation) and stability.

    Node ids are the names, so that networkx gives back the graph of ``to_networkx``; names that XML
    cannot hold, or that occur twice once mended, get their number as id.
    """
    root = Xml.Element("graphml", xmlns=GRAPHML)
    for key, target, kind in (
        ("name", "node", "string"),
        ("weight", "edge", "double"),
        ("stability", "edge", "double"),
    ):
        if key != "stability" or network.stability is not None:
            attributes = {"id": key, "for": target, "attr.name": key, "attr.type": kind}
            Xml.SubElement(root, "key", attributes)
    graph = Xml.SubElement(root, "graph", id="network", edgedefault="undirected")
    ids = _ids(network.names)
    for identifier, name in zip(ids, network.names, strict=True):
        node = Xml.SubElement(graph, "node", id=identifier)
        Xml.SubElement(node, "data", key="name").text = xml_text(name)
    for j, k, weight, stability in network.edges():
        edge = Xml.SubElement(graph, "edge", source=ids[j], target=ids[k])
        Xml.SubElement(edge, "data", key="weight").text = repr(weight)
        if stability is not None:
            Xml.SubElement(edge, "data", key="stability").text = repr(stability)
    return root


def gexf_tree(network: Network) -> Xml.Element:
    """GEXF; its weight is the size of the partial correlation, since layouts take no negative ones."""
    root = Xml.Element("gexf", xmlns=GEXF, version="1.3")
    graph = Xml.SubElement(root, "graph", defaultedgetype="undirected", mode="static")
    declared = Xml.SubElement(graph, "attributes", {"class": "edge"})
    titles = ["partial_correlation", *(["stability"] if network.stability is not None else [])]
    for title in titles:
        Xml.SubElement(declared, "attribute", id=title, title=title, type="double")
    nodes = Xml.SubElement(graph, "nodes")
    for number, name in enumerate(network.names):
        Xml.SubElement(nodes, "node", id=str(number), label=xml_text(name))
    edges = Xml.SubElement(graph, "edges")
    for number, (j, k, weight, stability) in enumerate(network.edges()):
        edge = Xml.SubElement(
            edges, "edge", id=str(number), source=str(j), target=str(k), weight=repr(abs(weight))
        )
        values = Xml.SubElement(edge, "attvalues")
        for title, value in zip(titles, (weight, stability), strict=False):
            Xml.SubElement(values, "attvalue", {"for": title, "value": repr(value)})
    return root


def brainnet_text(network: Network, coordinates: ArrayLike | None = None) -> tuple[str, str]:
    """The two files of BrainNet Viewer: places, sizes (number of edges) and labels; the matrix.

    Parameters
    ----------
    network : Network
    coordinates : array of shape (p, 3), optional

    Returns
    -------
    tuple of str
        Content of the ``.node`` and of the ``.edge`` file.
    """
    p = len(network.names)
    if coordinates is None:
        angle = 2.0 * np.pi * np.arange(p) / p
        places = CIRCLE * np.column_stack([np.sin(angle), np.cos(angle), np.zeros(p)])
    else:
        places = np.asarray(coordinates, dtype=np.float64)
    if places.shape != (p, 3) or not np.isfinite(places).all():
        raise ValueError(
            f"coordinates must hold finite x, y and z of each of the {p} variables; got an array of "
            f"shape {places.shape}."
        )
    strength = network.omega.copy()
    np.fill_diagonal(strength, 0.0)
    degree = np.count_nonzero(strength, axis=1)
    # Fields are parted by blanks, and a dash stands for no label.
    labels = ["_".join(name.split()) or "-" for name in network.names]
    nodes = [
        f"{x:.2f}\t{y:.2f}\t{z:.2f}\t1\t{size}\t{label}"
        for (x, y, z), size, label in zip(places, degree, labels, strict=True)
    ]
    edges = ["\t".join(f"{value:.6g}" for value in row) for row in strength]
    return "\n".join(nodes) + "\n", "\n".join(edges) + "\n"


def igraph_from(names: tuple[str, ...], omega: Array, stability: Array | None) -> igraph.Graph:
    """An igraph graph with the attributes name, weight and, where known, stability."""
    try:
        import igraph
    except ImportError as error:
        raise ImportError("to_igraph needs igraph: pip install igraph") from error
    edges = list(Network(names, omega, stability).edges())
    attributes: dict[str, Any] = {"weight": [weight for *_, weight, _ in edges]}
    if stability is not None:
        attributes["stability"] = [share for *_, share in edges]
    return igraph.Graph(
        n=len(names),
        edges=[(j, k) for j, k, *_ in edges],
        vertex_attrs={"name": list(names)},
        edge_attrs=attributes,
    )


def xml_text(name: str) -> str:
    r"""A name with what XML cannot hold replaced.

    Examples
    --------
    >>> xml_text("bell \x07")
    'bell �'
    """
    return NOT_XML.sub("\ufffd", name)


def _ids(names: tuple[str, ...]) -> list[str]:
    mended = [xml_text(name) for name in names]
    # A parser may trim or fold blanks in an attribute, so such names are no safe ids either.
    safe = all(name and name == " ".join(name.split()) for name in mended)
    if safe and len(set(mended)) == len(mended):
        return mended
    return [f"n{number}" for number in range(len(names))]


def _write_xml(root: Xml.Element, path: Path) -> None:
    Xml.indent(root)
    with new_file(path) as file:
        Xml.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
