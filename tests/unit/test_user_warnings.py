"""Warnings at the user's line, and messages that are collected instead."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from plaggm.user_warnings import collected_warnings, silenced_warnings, warn_user


def test_collected_instead_of_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with collected_warnings() as messages:
            warn_user("Few samples.")
    assert messages == ["Few samples."]
    with pytest.warns(UserWarning, match="Few samples") as caught:
        warn_user("Few samples.")
    assert caught[0].filename == __file__


def test_other_threads_are_left_alone():
    with collected_warnings() as messages, ThreadPoolExecutor(1) as other:
        warn_user("Said here.")
        with pytest.warns(UserWarning, match="elsewhere"):
            other.submit(warn_user, "Said elsewhere.").result()
    assert messages == ["Said here."]


def test_silenced_categories_are_left_out_in_this_thread_alone():
    with collected_warnings() as messages, silenced_warnings(RuntimeWarning):
        warn_user("slow", RuntimeWarning)
        warn_user("few")
        with ThreadPoolExecutor(1) as other, pytest.warns(RuntimeWarning, match="slow"):
            other.submit(warn_user, "slow", RuntimeWarning).result()
    assert messages == ["few"]
    with pytest.warns(RuntimeWarning, match="slow"):
        warn_user("slow", RuntimeWarning)
