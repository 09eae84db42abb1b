"""Write the conda recipe of a source distribution: its version and checksum in `packaging/conda/meta.yaml`.

python packaging/fill_recipe.py dist
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

TEMPLATE = Path(__file__).parent / "conda" / "meta.yaml"


def fill(template: str, source: Path) -> str:
    """The recipe of a source distribution, ``plaggm-VERSION.tar.gz``."""
    version = source.name.removeprefix("plaggm-").removesuffix(".tar.gz")
    checksum = hashlib.sha256(source.read_bytes()).hexdigest()
    # The comment at the top is about the template.
    recipe = template[template.index("{% set name") :]
    return recipe.replace("@VERSION@", version).replace("@SHA256@", checksum)


def main(folder: Path) -> None:
    """Fill the recipe of the only source distribution in a folder."""
    (source,) = folder.glob("plaggm-*.tar.gz")
    place = folder / "conda" / "meta.yaml"
    place.parent.mkdir(exist_ok=True)
    place.write_text(fill(TEMPLATE.read_text(encoding="utf-8"), source), encoding="utf-8")
    print(f"{place}: {source.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
