"""``plaggm fit`` of time series: sorted by time, divided at gaps, told on the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.signal import lfilter

from plaggm.cli.column_roles import Roles
from plaggm.cli.fit import fit
from plaggm.cli.messages import InputError
from plaggm.cli.samples import Samples
from plaggm.cli.settings import FitSettings
from plaggm.cli.time_order import in_time_order, with_runs

SOURCE = Path("scan.csv")


def table(n: int = 120) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    x = lfilter([1.0], [1.0, -0.8], draw.standard_normal((n + 50, 4)), axis=0)[50:]
    frame = pd.DataFrame(x, columns=list("abcd"))
    return frame.assign(
        fd=draw.gamma(1.0, size=n), session=np.repeat(["s1", "s2"], n // 2), t=range(n)
    )


def test_rows_are_sorted_and_told_on_the_page(tmp_path):
    frame = table()
    frame.sample(frac=1.0, random_state=0).to_csv(tmp_path / "scan.csv", index=False)
    place = tmp_path / "out"
    options = ["--confounder", "fd", "--time", "t", "--run", "session", "--stability", "2"]
    args = [str(tmp_path / "scan.csv"), *options, "--jobs", "1", "--output", str(place)]
    done = CliRunner().invoke(fit, args)
    assert done.exit_code == 0, done.output
    told = json.loads((place / "result.json").read_text())["diagnostics"]
    assert told["n_runs"] == 2
    assert told["ar_order"] >= 1
    assert told["effective_samples"] < 60
    assert told["confounding_method"] == "circular shifts"
    assert "time series" in (place / "summary.txt").read_text()
    assert "circular shifts" in (place / "report.html").read_text()
    assert 'temporal = "ar"' in (place / "settings.toml").read_text()


def settings(**given) -> FitSettings:
    return FitSettings(data="scan.csv", confounder=("fd",), **given)


def test_series_end_at_gaps_runs_and_rows_left_out():
    frame = pd.DataFrame({"t": [3, 1, 2, 9, 8, 1], "session": ["a"] * 5 + ["b"], "a": 0.0})
    roles = Roles(("a",), ("fd",), None, "session", "t")
    found, series = in_time_order(frame, roles, settings(time="t", run="session"), SOURCE)
    assert found["t"].tolist() == [1, 2, 3, 8, 9, 1]
    assert series.tolist() == [0, 0, 0, 1, 1, 2]
    left = Samples(found[["a"]].drop(index=found.index[1]), found[["a"]])
    assert with_runs(left, series, found.index).runs.tolist() == [0, 1, 2, 2, 3]


def test_dates_are_times():
    frame = pd.DataFrame({"day": ["2024-01-03", "2024-01-01", "2024-01-02"]})
    roles = Roles((), (), None, None, "day")
    found, series = in_time_order(frame, roles, settings(time="day"), SOURCE)
    assert found["day"].tolist() == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert series.tolist() == [0, 0, 0]


def test_dates_may_differ_in_their_zone():
    written = [f"2024-03-31T0{hour}:00:00+0{zone}:00" for hour, zone in ((1, 1), (3, 2), (2, 0))]
    frame = pd.DataFrame({"t": written})
    found, series = in_time_order(frame, Roles((), (), None, None, "t"), settings(time="t"), SOURCE)
    assert found["t"].tolist() == written
    assert series.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([1, 2, 2], "row 2 (line 3) and row 3 (line 4) of"),
        ([1, None, 2], "has 1 missing value(s), first in row 2 (line 3)"),
        (["2024-01-01", "soon", "2024-01-02"], "holds 'soon' in row 2 (line 3), which is no date"),
        (["2024-01-01", "20", "2024-01-02"], "holds '20' in row 2 (line 3), which is no date"),
        (["1", "soon", "2.5"], "holds 'soon' in row 2 (line 3), which is neither a number nor"),
    ],
)
def test_times_that_cannot_be_sorted_are_refused(tmp_path, times, words):
    frame, path = pd.DataFrame({"t": times}), tmp_path / "scan.csv"
    frame.to_csv(path)
    with pytest.raises(InputError) as caught:
        in_time_order(frame, Roles((), (), None, None, "t"), settings(time="t"), path)
    assert words in caught.value.message


def test_wrong_options_are_one_line(tmp_path):
    table().to_csv(tmp_path / "scan.csv", index=False)
    base = [str(tmp_path / "scan.csv"), "--confounder", "fd", "--output", str(tmp_path / "out")]
    for options, words in (
        (["--temporal", "arma"], "must be 'ar' or the order"),
        (["--time", "volume"], "has no column 'volume' (--time)"),
        (["--run", "session", "--columns", "a,b,session"], "run or time at once"),
    ):
        done = CliRunner().invoke(fit, [*base, *options])
        assert done.exit_code == 2
        assert words in done.output.replace("\n", " ").lower() or words in done.output
        assert not (tmp_path / "out").exists()


def test_dependent_rows_are_told_in_the_result_and_not_of_its_halves(tmp_path):
    table().drop(columns=["session", "t"]).to_csv(tmp_path / "scan.csv", index=False)
    options = ["--confounder", "fd", "--stability", "4", "--output", str(tmp_path / "out")]
    done = CliRunner().invoke(fit, [str(tmp_path / "scan.csv"), *options])
    assert done.exit_code == 0, done.output
    # Once, before the fits.
    assert done.stderr.count("Rows resemble the row before") == 1
    assert "resemble those of the row before" not in done.stderr
    summary = " ".join((tmp_path / "out" / "summary.txt").read_text(encoding="utf-8").split())
    assert "resemble those of the row before (lag-1 correlation" in summary
    assert "fit them with --time or --temporal" in summary
