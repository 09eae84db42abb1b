"""Levels of factors by name, and their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm.data import as_confounder, new_confounder
from plaggm.data.factors import (
    MOST_LEVELS,
    check_categorical,
    encode,
    indicator_names,
    indicators,
    is_factor,
    level_name,
)


class TestIsFactor:
    @pytest.mark.parametrize(
        "values",
        [
            ["north", "south", "north"],
            pd.array(["a", None, "b"], dtype="string"),
            pd.Categorical([3, 1, 3]),
            [True, False, True],
            pd.array([True, None], dtype="boolean"),
            np.array(["no", True, "yes"], dtype=object),
            ["site 1", "2", "site 3"],
        ],
    )
    def test_names(self, values: Any) -> None:
        assert is_factor(pd.Series(values))

    @pytest.mark.parametrize(
        "values",
        [
            [0, 1, 1],
            [0.5, np.nan],
            ["1.5", "2", "high"],
            ["1", "a"],
            np.array([1, "a"], dtype=object),
            np.array([None, None], dtype=object),
            pd.date_range("2020-01-01", periods=3),
            np.array([1 + 2j, 0]),
        ],
    )
    def test_numbers_and_what_is_neither(self, values: Any) -> None:
        assert not is_factor(pd.Series(values))


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        *((3, "3"), (3.0, "3"), (np.float32(3), "3"), (np.int8(3), "3"), (-2.0, "-2")),
        *((0.5, "0.5"), (True, "True"), (np.bool_(False), "False"), ("3", "3"), (" a", " a")),
    ],
)
def test_level_name(cell: Any, name: str) -> None:
    assert level_name(cell) == name


class TestEncode:
    def test_natural_order_of_names(self) -> None:
        column = pd.Series(["site 10", "site 2", "site 1", "site 2", "²", "Ä"])
        codes, levels = encode(column)
        assert levels == ("site 1", "site 2", "site 10", "²", "Ä")
        np.testing.assert_array_equal(codes, [2.0, 1.0, 0.0, 1.0, 3.0, 4.0])

    def test_numbers_in_their_order(self) -> None:
        codes, levels = encode(pd.Series([10, 9, 100, 9]))
        assert levels == ("9", "10", "100")
        np.testing.assert_array_equal(codes, [1.0, 0.0, 2.0, 0.0])

    def test_the_order_of_categories(self) -> None:
        column = pd.Series(
            pd.Categorical(["mild", "severe", "mild"], ["none", "severe", "mild"], ordered=True)
        )
        codes, levels = encode(column)
        # A category that no row has is no level.
        assert levels == ("severe", "mild")
        np.testing.assert_array_equal(codes, [1.0, 0.0, 1.0])

    def test_levels_of_a_fit(self) -> None:
        codes, levels = encode(pd.Series(["b", "c", "a"]), ("c", "b"))
        assert levels == ("c", "b")
        np.testing.assert_array_equal(codes, [1.0, 0.0, -1.0])

    @pytest.mark.parametrize("known", [None, ("a", "b")])
    def test_missing_values(self, known: tuple[str, ...] | None) -> None:
        codes, levels = encode(pd.Series(["a", None, "b", np.nan]), known)
        assert levels == ("a", "b")
        np.testing.assert_array_equal(codes, [0.0, np.nan, 1.0, np.nan])

    def test_a_level_called_nan_is_one(self) -> None:
        codes, levels = encode(pd.Series(["nan", "b", None]))
        assert levels == ("b", "nan")
        np.testing.assert_array_equal(codes, [1.0, 0.0, np.nan])

    def test_too_many_levels(self) -> None:
        encode(pd.Series([f"s{k}" for k in range(MOST_LEVELS)]))
        names = pd.Series([f"s{k}" for k in range(MOST_LEVELS + 1)], name="subject")
        with pytest.raises(ValueError, match=r"'subject' has 101 levels .*pass it as groups"):
            encode(names)


class TestIndicators:
    values = np.array([[0.5, 2.0], [0.1, 0.0], [0.2, 1.0]])

    def test_numbers_stay(self) -> None:
        np.testing.assert_array_equal(indicators(self.values, ()), self.values)
        np.testing.assert_array_equal(indicators(self.values, (None, None)), self.values)
        assert indicator_names(("age", "dose"), ()) == ("age", "dose")

    def test_one_column_for_each_level_but_the_first(self) -> None:
        levels = (None, ("a", "b", "c"))
        found = indicators(self.values, levels)
        np.testing.assert_array_equal(found, [[0.5, 0, 1], [0.1, 0, 0], [0.2, 1, 0]])
        assert indicator_names(("age", "site"), levels) == ("age", "site=b", "site=c")


class TestCategorical:
    @pytest.mark.parametrize(
        ("given", "found"),
        [(None, ()), ("site", ("site",)), (["site", "sex"], ("site", "sex")), ((), ())],
    )
    def test_names(self, given: Any, found: tuple[str, ...]) -> None:
        assert check_categorical(given, ("age", "site", "sex")) == found

    @pytest.mark.parametrize("given", ["Site", ["age", "Site"], [1]])
    def test_what_is_no_confounder(self, given: Any) -> None:
        with pytest.raises(
            ValueError, match=r"categorical names .* not a confounder.*'age', 'site'"
        ):
            check_categorical(given, ("age", "site"))


class TestConfounders:
    """Factors among the validated confounders."""

    def test_kinds_by_column(self) -> None:
        frame = pd.DataFrame(
            {"age": [20.0, 31.5, 40.0], "site": ["b", "a", "b"], "smokes": [True, False, False]}
        )
        found = as_confounder(frame, None, 3)
        assert found.names == ("age", "site", "smokes")
        assert found.levels == (None, ("a", "b"), ("False", "True"))
        assert found.factors == (False, True, True)
        np.testing.assert_array_equal(found.values, [[20, 1, 1], [31.5, 0, 0], [40, 1, 0]])

    @pytest.mark.parametrize(
        "given",
        [
            ["a", "b", "a"],
            np.array(["a", "b", "a"]),
            np.array(["a", "b", "a"], dtype=object),
            pd.Series(["a", "b", "a"], dtype="category"),
            pd.Series(["a", "b", "a"], dtype="string"),
            [["a"], ["b"], ["a"]],
        ],
    )
    def test_text_of_every_type(self, given: Any) -> None:
        found = as_confounder(given, None, 3)
        assert found.levels == (("a", "b"),)
        np.testing.assert_array_equal(found.values[:, 0], [0.0, 1.0, 0.0])

    def test_a_mixed_array(self) -> None:
        found = as_confounder(np.array([[20, "a"], [30, "b"], [25.5, "a"]], dtype=object), None, 3)
        assert found.levels == (None, ("a", "b"))
        np.testing.assert_array_equal(found.values, [[20.0, 0.0], [30.0, 1.0], [25.5, 0.0]])

    def test_numbers_that_are_declared_names(self) -> None:
        frame = pd.DataFrame({"age": [20.0, 31.5, 40.0], "site": [10.0, 2.0, 10.0]})
        found = as_confounder(frame, None, 3, "site")
        assert found.levels == (None, ("2", "10"))
        assert as_confounder(frame, None, 3).levels == ()

    def test_missing_levels_are_refused(self) -> None:
        site = pd.Series(["a", None, "b", "a"], name="site")
        with pytest.raises(ValueError, match=r"row 1 of column 'site'"):
            as_confounder(site, None, 4)

    def test_one_level_is_constant(self) -> None:
        with pytest.raises(ValueError, match="'site' is constant"):
            as_confounder(pd.Series(["a"] * 4, name="site"), None, 4)

    @pytest.mark.parametrize(
        "column", [["1.5", "2.0", "x", "3.1"], np.array([1.0, "x", 2.0, 3.0], dtype=object)]
    )
    def test_numbers_with_mistakes_are_no_factor(self, column: Any) -> None:
        with pytest.raises(ValueError, match="numeric"):
            as_confounder(pd.Series(column, name="dose"), None, 4)

    def test_new_rows_by_the_names_of_the_fit(self) -> None:
        frame = pd.DataFrame({"site": ["b", "new", "a"], "age": [1.0, 2.0, 3.0]})
        found = new_confounder(frame, ("age", "site"), None, 3, (None, ("a", "b")))
        np.testing.assert_array_equal(found, [[1.0, 1.0], [2.0, -1.0], [3.0, 0.0]])

    def test_new_rows_of_declared_names(self) -> None:
        """Whole numbers of every type, and their text, are the same level."""
        for given in ([2, 10, 2], [2.0, 10.0, 2.0], ["2", "10", "2"]):
            found = new_confounder(
                pd.Series(given, name="site"), ("site",), None, 3, (("2", "10"),)
            )
            np.testing.assert_array_equal(found[:, 0], [0.0, 1.0, 0.0])


class TestRepeatedFactors:
    site = pd.Series(list("abcabcacb"), name="site")

    def test_the_same_division_under_other_names(self) -> None:
        other = self.site.map({"a": "Oslo", "b": "Bonn", "c": "Rome"})
        both = pd.DataFrame({"site": self.site, "town": other})
        with pytest.raises(
            ValueError, match="'site' and 'town' divide the samples in the same way"
        ):
            as_confounder(both, None, 9)
        numbers = pd.DataFrame({"site": self.site, "code": self.site.map({"a": 7, "b": 1, "c": 3})})
        with pytest.raises(ValueError, match="divide the samples in the same way"):
            as_confounder(numbers, None, 9)

    @pytest.mark.parametrize("kind", [bool, float, str])
    def test_an_indicator_of_one_level(self, kind: type) -> None:
        both = pd.DataFrame({"at_b": (self.site == "b").astype(kind), "site": self.site})
        with pytest.raises(
            ValueError, match="'at_b' only says which samples have the level 'b' of"
        ):
            as_confounder(both, None, 9)

    def test_crossed_and_nested_confounders_are_taken(self) -> None:
        eight = pd.Series(list("abcdabcd"))
        nested = pd.DataFrame({"site": eight, "north": eight.isin(["a", "b"])})
        assert as_confounder(nested, None, 8).names == ("site", "north")
        crossed = pd.DataFrame({"site": self.site, "sex": list("mfmfmmfmf")})
        assert as_confounder(crossed, None, 9).factors == (True, True)
