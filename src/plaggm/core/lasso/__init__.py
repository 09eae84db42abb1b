"""The lasso on node Gram matrices, and the other penalised regressions of networks.

:mod:`plaggm.core.lasso.path` chooses the solver: coordinate descent over pairs, that of many variables, or
one lasso for each node. All stop on the duality gap.
"""
