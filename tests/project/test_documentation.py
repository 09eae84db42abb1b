"""The documentation site: examples of public names, code of the pages, links, pages of commands."""

from __future__ import annotations

import importlib.util
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
if not DOCS.exists():
    pytest.skip("the documentation is not part of this copy", allow_module_level=True)
COMING_FROM = sorted((DOCS / "coming-from").glob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
# What every example of the gallery has, in these words.
PARTS = ("**Question.**", "Caveat", "**A careful reader would check**", "**Data**", "import")


def load(path: Path) -> ModuleType:
    """A module that belongs to no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


api = load(DOCS / "extensions" / "api_reference.py")


@pytest.mark.parametrize("module", api.PUBLIC)
def test_every_public_name_has_an_example(module: str) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    for needed in {"plaggm.fmri": ["nilearn"], "plaggm.distributed": ["distributed"]}.get(
        module, []
    ):
        pytest.importorskip(needed)
    without = [
        name
        for name, thing in api.public_objects(module).items()
        if ">>>" not in (inspect.getdoc(thing) or "")
    ]
    assert not without, f"add an example to the docstring of {', '.join(without)} in {module}"


def test_a_name_without_example_would_be_noticed() -> None:
    assert ">>>" not in (inspect.getdoc(api.public_objects) or "")


def test_all_public_names_are_on_the_page() -> None:
    pytest.importorskip("matplotlib")
    for module in ("plaggm", "plaggm.related", "plaggm.metrics", "plaggm.simulate"):
        section = api.summary_of(module)
        for name in import_module(module).__all__:
            assert name in section or name == "__version__"


@pytest.mark.parametrize("page", COMING_FROM, ids=lambda page: page.stem)
def test_python_of_coming_from_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nilearn")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks or page.stem == "index"
    exec(compile("\n".join(blocks), str(page), "exec"), {})


def test_examples_tell_a_story() -> None:
    assert len(EXAMPLES) >= 8
    for path in EXAMPLES:
        text = path.read_text(encoding="utf-8")
        assert not [part for part in PARTS if part not in text], path.name


def test_broken_links_are_found(tmp_path: Path) -> None:
    checker = load(DOCS / "check_links.py")
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a><img src="no.png"><a id="up">')
    (tmp_path / "b.html").write_text('<a href="a.html#up"></a><a href="https://example.org/x">')
    found = list(checker.broken(tmp_path))
    assert found == ["a.html: b.html#here leads to no anchor", "a.html: no.png leads to no file"]
    assert checker.main(tmp_path) == 1


def test_pages_of_commands_hold_all_options() -> None:
    pytest.importorskip("rich")
    click = pytest.importorskip("click")
    pages = load(DOCS / "extensions" / "command_reference.py")
    from plaggm.cli.group import commands

    top = click.Context(commands, info_name="plaggm")
    seen = [pages.page(context) for context in pages.all_commands(commands, top)]
    fit = next(text for text in seen if text.startswith("# plaggm fit"))
    assert "`--confounder COL`" in fit
    assert "```console\nplaggm fit prices.csv --confounder volatility" in fit
    assert sum(text.startswith("## plaggm simulate ") for text in seen) == 3
