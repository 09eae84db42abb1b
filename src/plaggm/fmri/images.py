"""Brain images, whose headers are checked before voxels are read."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from plaggm.read_errors import UnreadableFile, check_memory, path_problem

# Bytes of a voxel while it is worked with, and largest factor by which gzip can shrink anything.
VOXEL, MOST_COMPRESSED = 8, 1032
COMPRESSED = (".gz", ".mgz", ".bz2", ".zst")


def open_image(path: Path) -> Any:
    """Open an image whose voxels can be there and fit into memory; they are not read yet.

    Parameters
    ----------
    path : Path
        Any format of nibabel.

    Returns
    -------
    nibabel image
    """
    import nibabel
    from nilearn.image import load_img

    if problem := path_problem(path):
        raise UnreadableFile(problem)
    header: Any = nibabel.load(path)
    shape = tuple(int(length) for length in header.shape)
    if not shape or min(shape) < 1:
        raise UnreadableFile(f"its header says that it has the shape {shape}")
    stored = prod(shape) * header.get_data_dtype().itemsize
    most = path.stat().st_size * (MOST_COMPRESSED if path.suffix.lower() in COMPRESSED else 1)
    # The voxels of a pair of files are in the other one.
    if stored > most and path.suffix.lower() not in (".hdr", ".img"):
        raise UnreadableFile(
            f"its header states the shape {shape}, for which the file is too small"
        )
    check_memory(prod(shape) * VOXEL, f"an image of the shape {shape}")
    return load_img(str(path))
