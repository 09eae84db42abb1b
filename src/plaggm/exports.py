"""Export of the network to formats of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import numpy as np
from numpy.typing import ArrayLike

from plaggm.arguments import real_array
from plaggm.array_types import Array
from plaggm.atomic_files import new_file, write_file

if TYPE_CHECKING:
    import igraph
    import networkx


GRAPHML = "http://graphml.graphdrawing.org/xmlns"
GEXF = "http://gexf.net/1.3"
# Characters that are not allowed in XML, even if escaped.
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Radius in millimetres of the circle of variables without coordinates, inside the standard brain of
# BrainNet Viewer.
CIRCLE = 60.0
BRAINNET = (".node", ".edge")


@dataclass(frozen=True, slots=True)
class Network:
    """An exported network.

    Attributes
    ----------
    names : tuple of p str
    strength : ndarray of shape (p, p)
        Partial correlations of the edges, zero where there is none; the diagonal is not used.
    attributes : dict of str to ndarray of shape (p, p)
        Further numbers of each edge, by name.
    """

    names: tuple[str, ...]
    strength: Array
    attributes: dict[str, Array] = field(default_factory=dict)

    def edges(self) -> Iterator[tuple[int, int, float, dict[str, float]]]:
        """Both ends, the partial correlation and the attributes of every edge."""
        for j, k in zip(*np.nonzero(np.triu(self.strength, 1)), strict=True):
            values = {name: float(matrix[j, k]) for name, matrix in self.attributes.items()}
            yield int(j), int(k), float(self.strength[j, k]), values


def export_network(
    network: Network, path: Path, coordinates: ArrayLike | None = None
) -> tuple[Path, ...]:
    """Write a network in the format given by the file extension.

    Parameters
    ----------
    network : Network
    path : Path
        Ending in ``.graphml``, ``.gexf``, ``.node`` or ``.edge``.
    coordinates : array of shape (p, 3), optional
        Places of the variables, for BrainNet Viewer.

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
            f"{path.name!r} has no known file extension; use .graphml (igraph, networkx, Cytoscape), .gexf "
            "(Gephi), or .node and .edge (BrainNet Viewer)."
        )
    return (path,)


def graphml_tree(network: Network) -> Xml.Element:
    """GraphML with the attributes name, weight (the partial correlation) and those of the network.

    Node ids are the names, so that networkx reads the graph of ``to_networkx``. If names are not valid or
    not unique in XML, ids are numbers.
    """
    root = Xml.Element("graphml", xmlns=GRAPHML)
    for key in ("name", "weight", *network.attributes):
        element, kind = ("node", "string") if key == "name" else ("edge", "double")
        attributes = {"id": key, "for": element, "attr.name": key, "attr.type": kind}
        Xml.SubElement(root, "key", attributes)
    graph = Xml.SubElement(root, "graph", id="network", edgedefault="undirected")
    ids = _ids(network.names)
    for identifier, name in zip(ids, network.names, strict=True):
        node = Xml.SubElement(graph, "node", id=identifier)
        Xml.SubElement(node, "data", key="name").text = xml_text(name)
    for j, k, weight, values in network.edges():
        edge = Xml.SubElement(graph, "edge", source=ids[j], target=ids[k])
        for key, value in {"weight": weight, **values}.items():
            Xml.SubElement(edge, "data", key=key).text = repr(value)
    return root


def gexf_tree(network: Network) -> Xml.Element:
    """GEXF whose weights are absolute partial correlations, since layouts do not allow negative ones."""
    root = Xml.Element("gexf", xmlns=GEXF, version="1.3")
    graph = Xml.SubElement(root, "graph", defaultedgetype="undirected", mode="static")
    declared = Xml.SubElement(graph, "attributes", {"class": "edge"})
    for title in ("partial_correlation", *network.attributes):
        Xml.SubElement(declared, "attribute", id=title, title=title, type="double")
    nodes = Xml.SubElement(graph, "nodes")
    for number, name in enumerate(network.names):
        Xml.SubElement(nodes, "node", id=str(number), label=xml_text(name))
    edges = Xml.SubElement(graph, "edges")
    for number, (j, k, weight, more) in enumerate(network.edges()):
        edge = Xml.SubElement(
            edges, "edge", id=str(number), source=str(j), target=str(k), weight=repr(abs(weight))
        )
        values = Xml.SubElement(edge, "attvalues")
        for title, value in {"partial_correlation": weight, **more}.items():
            Xml.SubElement(values, "attvalue", {"for": title, "value": repr(value)})
    return root


def brainnet_text(network: Network, coordinates: ArrayLike | None = None) -> tuple[str, str]:
    """The two files of BrainNet Viewer: one of coordinates, sizes (number of edges) and labels; the matrix.

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
        places = real_array(coordinates, "coordinates")
    if places.shape != (p, 3) or not np.isfinite(places).all():
        raise ValueError(
            f"coordinates must hold finite x, y and z of each of the {p} variables; got an array of "
            f"shape {places.shape}."
        )
    strength = network.strength.copy()
    np.fill_diagonal(strength, 0.0)
    degree = np.count_nonzero(strength, axis=1)
    # Fields are separated by blanks, and a dash is an empty label.
    labels = ["_".join(name.split()) or "-" for name in network.names]
    nodes = [
        f"{x:.2f}\t{y:.2f}\t{z:.2f}\t1\t{size}\t{label}"
        for (x, y, z), size, label in zip(places, degree, labels, strict=True)
    ]
    edges = ["\t".join(f"{value:.6g}" for value in row) for row in strength]
    return "\n".join(nodes) + "\n", "\n".join(edges) + "\n"


def networkx_from(network: Network) -> networkx.Graph:
    """A networkx graph with the attribute weight and those of the network; needs the ``plot`` extra."""
    try:
        import networkx
    except ImportError as error:
        raise ImportError("to_networkx needs networkx: pip install 'plaggm[plot]'") from error
    graph = networkx.Graph()
    graph.add_nodes_from(network.names)
    for j, k, weight, values in network.edges():
        graph.add_edge(network.names[j], network.names[k], weight=weight, **values)
    return graph


def igraph_from(network: Network) -> igraph.Graph:
    """An igraph graph with the attributes name, weight and those of the network."""
    try:
        import igraph
    except ImportError as error:
        raise ImportError("to_igraph needs igraph: pip install igraph") from error
    edges = list(network.edges())
    attributes: dict[str, Any] = {"weight": [weight for *_, weight, _ in edges]}
    attributes |= {name: [values[name] for *_, values in edges] for name in network.attributes}
    return igraph.Graph(
        n=len(network.names),
        edges=[(j, k) for j, k, *_ in edges],
        vertex_attrs={"name": list(network.names)},
        edge_attrs=attributes,
    )


def xml_text(name: str) -> str:
    r"""A name in which characters that XML does not allow are replaced.

    Examples
    --------
    >>> xml_text("bell \x07")
    'bell �'
    """
    return NOT_XML.sub("\ufffd", name)


def _ids(names: tuple[str, ...]) -> list[str]:
    mended = [xml_text(name) for name in names]
    # Parsers may change blanks in attributes.
    safe = all(name and name == " ".join(name.split()) for name in mended)
    if safe and len(set(mended)) == len(mended):
        return mended
    return [f"n{number}" for number in range(len(names))]


def _write_xml(root: Xml.Element, path: Path) -> None:
    Xml.indent(root)
    with new_file(path) as file:
        Xml.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
