"""The conda recipe and the Dockerfile say what pyproject.toml says."""

from __future__ import annotations

import hashlib
import re
import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
# Packages that conda-forge has under other names.
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


def listed(section: str) -> list[str]:
    """Items of a list in the recipe, without spaces."""
    block = RECIPE.split(f"  {section}:\n", 1)[1]
    return [line.strip()[2:].replace(" ", "") for line in _items(block)]


def _items(block: str) -> list[str]:
    lines = []
    for line in block.splitlines():
        if not line.startswith("    - "):
            break
        lines.append(line)
    return lines


def of_conda(requirement: str) -> str:
    name, _, least = requirement.partition(">=")
    name = re.sub(r"\[.*\]", "", name)
    return f"{CONDA_NAMES.get(name, name)}>={least}"


def test_recipe_requires_what_the_project_requires() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["plot"], *extras["cli"]]
    assert listed("run") == ["python>={{python_min}}", *map(of_conda, wanted)]
    optional = {*extras["fmri"], *extras["distributed"]} - {*extras["cli"], "plaggm[plot]"}
    optional -= set(extras["parquet"])
    assert sorted(listed("run_constrained")) == sorted(map(of_conda, optional))


def test_recipe_builds_as_the_project_does() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert set(build["requires"]) <= set(listed("host"))
    (command,) = PROJECT["scripts"].items()
    assert f"- {command[0]} = {command[1]}" in RECIPE
    assert f"summary: {PROJECT['description']}" in RECIPE
    assert f"license: {PROJECT['license']}" in RECIPE


def test_recipe_of_a_source(tmp_path: Path) -> None:
    source = tmp_path / "plaggm-9.8.7.tar.gz"
    source.write_bytes(b"source")
    main = runpy.run_path(str(ROOT / "packaging" / "fill_recipe.py"))["main"]
    main(tmp_path)
    text = (tmp_path / "conda" / "meta.yaml").read_text()
    assert text.startswith('{% set name = "plaggm" %}\n{% set version = "9.8.7" %}')
    assert f'sha256: "{hashlib.sha256(b"source").hexdigest()}"' in text
    assert "@" not in text


def test_image_copies_what_the_wheel_is_made_of() -> None:
    """Files that the build needs, let through by .dockerignore and copied by the Dockerfile."""
    ignore = (ROOT / ".dockerignore").read_text().split()
    copied = (ROOT / "Dockerfile").read_text()
    for name in ("pyproject.toml", PROJECT["readme"], *PROJECT["license-files"], "src"):
        assert f"!{name}" in ignore
        assert re.search(rf"^COPY .*\b{re.escape(name)}\b", copied, re.MULTILINE)
