"""Networks of binary variables, counts and Gaussian columns: models, lasso and tests.

Modules named as in other rooms (``edge_tests``, ``change_tests``, ``path``) are their counterparts here.
"""
