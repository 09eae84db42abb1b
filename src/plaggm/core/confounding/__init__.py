"""Tests of R = 0: whether the network depends on the confounders at all."""
