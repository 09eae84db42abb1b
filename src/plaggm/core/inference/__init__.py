"""Tests and intervals of every pair of variables: edges, changes by adjusting, changes with a confounder.

:mod:`plaggm.core.inference.edge_tests` is the place to start.
"""
