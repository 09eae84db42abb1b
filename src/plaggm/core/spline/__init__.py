"""The functions of the confounders in which the nuisance is expanded, and the sums over rows they need.

From a :class:`~plaggm.core.spline.basis.SplineBasis` come the design, its sufficient statistics and the
linear system that all nodes share.
"""
