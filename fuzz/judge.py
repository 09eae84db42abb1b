"""What an exception, a message or the end of a command may look like."""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import sklearn

import plaggm

OURS = str(Path(plaggm.__file__).parent)
FUZZER = str(Path(__file__).parent)
# Where scikit-learn judges parameters and arrays; its users know these messages.
SKLEARN = str(Path(sklearn.__file__).parent)
VALIDATION = ("_param_validation.py", "validation.py", "base.py", "_available_if.py")

# Words of the interpreter and of libraries that mean nothing to whom they are shown.
INTERNALS = re.compile(
    "|".join(
        (
            r"Traceback \(most recent",
            r"object at 0x[0-9a-f]+",
            r"<class '",
            r"<function ",
            r"NoneType",
            r"'\w+' object (has no|is not|cannot|does not)",
            r"\[Errno",
            r"\b[A-Z]\w*(Error|Exception)\b",
            r"np\.(float|int|str_|bool)",
            r"\bdtype[=(]",
            r"array\(\[",
            r"codec can't",
            r"unhashable",
            r"not (subscriptable|iterable|callable)",
            r"not supported between",
            r"unsupported operand",
            r"cannot be interpreted as",
            r"positional argument",
            r"to unpack",
            r"could not convert",
            r"could not be broadcast",
            r"invalid literal",
            r"invalid value encountered",
            r"divide by zero encountered",
            r"overflow encountered",
            r"index out of (range|bounds)",
            r"maximum recursion",
            r"Unable to allocate",
            r"zero-size array",
            r"[Ss]ingular matrix",
            r"did not converge\b(?!.*max_iter)",
            r"allow_pickle",
            r"Python int too large",
            r"embedded null",
            r"Length of values",
            r"ufunc",
            r"matmul",
            r"contains? (NaN|inf)s? or (NaN|inf)",
            r"must not contain infs or NaNs",
        )
    )
)
FEWEST_WORDS = 3


def exception_findings(error: Exception, quoted: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with an exception that a call of the library raised."""
    place = _place(error.__traceback__)
    text = f"{type(error).__name__}: {error}"
    detail = f"{_one_line(text)} [{place.shown}]"
    if isinstance(error, OSError) and (place.deliberate or error.errno):
        # What the operating system says about a path is as clear to a programmer as our own words.
        return
    if not _is_documented(type(error)):
        yield "undocumented exception", detail
        return
    if not (place.deliberate or place.validation or place.signature):
        yield "accidental exception", detail
        return
    if not place.validation:
        yield from _text_findings(str(error), quoted, place.shown)


def warning_findings(
    caught: Iterable[warnings.WarningMessage], quoted: Sequence[Any]
) -> Iterator[tuple[str, str]]:
    """What is wrong with warnings: their words, or that they are none of ours."""
    for one in caught:
        shown = f"{Path(one.filename).name}:{one.lineno}"
        text = f"{one.category.__name__}: {one.message}"
        if one.category is RuntimeWarning:
            yield "arithmetic warning", f"{_one_line(text)} [{shown}]"
        elif one.category.__module__.startswith(("builtins", "plaggm", "sklearn")):
            yield from _internals(str(one.message), quoted, shown)


def message_findings(text: str, quoted: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with text that was printed."""
    yield from _internals(text, quoted, "printed")


def command_findings(result: Any, quoted: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the end of a command, as click's runner tells it."""
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        place = _place(error.__traceback__)
        detail = f"{_one_line(f'{type(error).__name__}: {error}')} [{place.shown}]"
        yield "traceback of a command", detail
        return
    yield from _internals(result.output, quoted, "printed")
    if result.exit_code == 0:
        return
    if result.exit_code != 2:
        yield "exit status", f"{result.exit_code}: {_one_line(result.output)}"
    # The problems of a study, and click's choices, stand below the error, one in each line, set in.
    lines = [line for line in result.output.splitlines() if not line[:1].isspace()]
    errors = [line for line in lines if line.startswith("Error: ")]
    counted = bool(lines) and "problem(s)" in lines[-1]
    if not counted and (len(errors) != 1 or lines[-1] != errors[0]):
        yield "not one line", _one_line(result.output)
    for line in errors:
        if len(line.split()) < FEWEST_WORDS:
            yield "says nothing", line


class _Place:
    """Where an exception was raised, and whether on purpose."""

    def __init__(self, file: str, line: int, name: str) -> None:
        self.shown = f"{Path(file).name}:{line}"
        statement = linecache.getline(file, line).strip()
        self.deliberate = file.startswith(OURS) and statement.startswith("raise ")
        self.validation = file.startswith(SKLEARN) and Path(file).name in VALIDATION
        # A call that Python itself refused, such as one with an unknown keyword.
        self.signature = file.startswith(FUZZER)


def _place(trace: TracebackType | None) -> _Place:
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return _Place(code.co_filename, trace.tb_lineno, code.co_name)


def _is_documented(kind: type[BaseException]) -> bool:
    """Whether a kind is ValueError or TypeError, or one of plaggm's or scikit-learn's own below them."""
    if kind in (ValueError, TypeError, AttributeError, ImportError):
        return True
    own = kind.__module__.startswith(("plaggm", "sklearn"))
    return own and issubclass(kind, ValueError | TypeError | AttributeError)


def _text_findings(text: str, quoted: Sequence[Any], shown: str) -> Iterator[tuple[str, str]]:
    if len(text.split()) < FEWEST_WORDS:
        yield "says nothing", f"{_one_line(text)} [{shown}]"
    yield from _internals(text, quoted, shown)


def _internals(text: str, quoted: Sequence[Any], shown: str) -> Iterator[tuple[str, str]]:
    for value in quoted:
        for written in (repr(value), str(value)):
            if INTERNALS.search(written):
                text = text.replace(written, "...")
    match = INTERNALS.search(text)
    if match:
        line = next(line for line in text.splitlines() if match.group().splitlines()[0] in line)
        yield "Python internals", f"{match.group()!r} in: {_one_line(line)} [{shown}]"


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 300 else f"{flat[:200]} ... {flat[-100:]}"
