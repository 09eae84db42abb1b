"""Files of BIDS derivatives: parsing of their names, and choice of a study's scans.

fMRIPrep writes preprocessed images and tables of confounds, XCP-D region series (``*_timeseries.tsv``,
``*_timeseries.ptseries.nii``) and motion, giga_connectome region series alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from plaggm.wording import listed

PARCELLATED = ".ptseries.nii"
EXTENSIONS = (PARCELLATED, ".nii.gz", ".nii", ".tsv.gz", ".tsv", ".json")
# Entities that tell the scans of a subject apart; all others say what was made of a scan.
OF_SCAN = ("ses", "task", "acq", "ce", "rec", "dir", "run", "echo")
# Which option chooses among files that differ in an entity.
CHOICES = {"space": "--space", "atlas": "--atlas", "seg": "--atlas", "task": "--task"}


@dataclass(frozen=True, slots=True)
class BidsFile:
    """A file by its name.

    Attributes
    ----------
    path : Path
    entities : dict
        Labels by key, such as ``{"sub": "01", "task": "rest"}``.
    suffix, extension : str
        Content and format, such as ``"bold"`` and ``".nii.gz"``.

    Examples
    --------
    >>> file = bids_file(Path("sub-01_task-rest_run-2_desc-preproc_bold.nii.gz"))
    >>> file.entities["run"], file.suffix, file.extension
    ('2', 'bold', '.nii.gz')
    """

    path: Path
    entities: dict[str, str] = field(default_factory=dict)
    suffix: str = ""
    extension: str = ""

    @property
    def scan(self) -> tuple[str, ...]:
        """Labels of the entities that tell scans apart."""
        return tuple(self.entities.get(key, "") for key in OF_SCAN)

    @property
    def atlas(self) -> str:
        """Label of the atlas of region series; empty for other files."""
        return self.entities.get("atlas", self.entities.get("seg", ""))

    @property
    def run(self) -> str:
        """Label of the run, with acquisition and direction where the name has them."""
        return "".join(self.entities.get(key, "") for key in OF_SCAN[2:])


def bids_file(path: Path) -> BidsFile:
    """A file with the BIDS entities in its name."""
    extension = next((one for one in EXTENSIONS if path.name.endswith(one)), path.suffix)
    *pairs, suffix = path.name.removesuffix(extension).split("_")
    entities = dict(pair.split("-", 1) for pair in pairs if "-" in pair)
    return BidsFile(path, entities, suffix, extension)


def functional_files(folder: Path, subject: str) -> list[BidsFile]:
    """The files in the ``func`` folders of a subject, of all sessions."""
    label = subject.removeprefix("sub-")
    places = [*folder.glob(f"sub-{label}/func"), *folder.glob(f"sub-{label}/ses-*/func")]
    return [bids_file(path) for place in sorted(places) for path in sorted(place.iterdir())]


def is_series(file: BidsFile) -> bool:
    """Whether a file holds region series."""
    return (
        file.suffix == "timeseries"
        and file.extension in (PARCELLATED, ".tsv", ".tsv.gz")
        and file.entities.get("desc") != "confounds"
        and bool(file.atlas)
    )


def is_preprocessed(file: BidsFile) -> bool:
    """Whether a file is a preprocessed image of fMRIPrep."""
    return (
        file.suffix == "bold"
        and file.extension in (".nii", ".nii.gz")
        and file.entities.get("desc") == "preproc"
    )


def is_motion(file: BidsFile) -> bool:
    """Whether a file is a table of confounds or of motion, one row for each volume."""
    if file.extension not in (".tsv", ".tsv.gz"):
        return False
    described = file.entities.get("desc") == "confounds"
    return file.suffix == "motion" or (described and file.suffix in ("timeseries", "regressors"))


def choose_scans(
    files: Iterable[BidsFile],
    holds: Callable[[BidsFile], bool],
    *,
    space: str | None,
    session: str | None,
    task: str | None,
    atlas: str | None,
) -> tuple[list[BidsFile], str]:
    """One file for each scan of a subject.

    Parameters
    ----------
    files : iterable of BidsFile
    holds : callable
        Whether a file holds what is looked for.
    space, session, task, atlas : str, optional
        Labels that files must have.

    Returns
    -------
    chosen : list of BidsFile
        In the order of sessions and runs.
    wrong : str
        Why there are none, in words; empty if there are.
    """
    found = [file for file in files if holds(file)]
    if not found:
        return [], "has none"
    wanted = {"space": space, "ses": session, "task": task}
    for key, label in wanted.items():
        if label is not None:
            bare = label.removeprefix(f"{key}-")
            there = sorted({file.entities.get(key, "") for file in found})
            found = [file for file in found if file.entities.get(key, "") == bare]
            if not found:
                return [], f"has none of the {key}-{bare}, but of {listed(there, 6)}"
    if atlas is not None:
        there = sorted({file.atlas for file in found})
        found = [file for file in found if file.atlas == atlas]
        if not found:
            return [], f"has none of the atlas {atlas}, but of {listed(there, 6)}"
    scans: dict[tuple[str, ...], BidsFile] = {}
    for file in found:
        other = scans.setdefault(file.scan, file)
        if other is file:
            continue
        if {other.extension, file.extension} == {PARCELLATED, ".tsv"} and _alike(other, file):
            # The same series twice: the CIFTI file also has the parcels.
            scans[file.scan] = file if file.extension == PARCELLATED else other
            continue
        keys = {*other.entities, *file.entities}
        unlike = sorted(key for key in keys if other.entities.get(key) != file.entities.get(key))
        options = list(dict.fromkeys(CHOICES[key] for key in unlike if key in CHOICES))
        how = f"choose with {' and '.join(options)}" if options else "keep one of them"
        return [], f"has several of one scan ({other.path.name}, {file.path.name}); {how}"
    tasks = sorted({file.entities.get("task", "") for file in found})
    if len(tasks) > 1:
        return [], f"has scans of the tasks {listed(tasks)}; choose with --task"
    return [scans[key] for key in sorted(scans)], ""


def _alike(one: BidsFile, other: BidsFile) -> bool:
    return one.entities == other.entities


def motion_of(scan: BidsFile, *places: Iterable[BidsFile]) -> Path | None:
    """The table of confounds or motion of a scan: from the first place that has one."""
    for place in places:
        tables = [file for file in place if is_motion(file) and file.scan == scan.scan]
        if tables:
            # fMRIPrep's table has more columns than XCP-D's.
            tables.sort(key=lambda file: file.suffix == "motion")
            return tables[0].path.resolve()
    return None
