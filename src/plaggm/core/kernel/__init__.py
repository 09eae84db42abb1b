"""The smoother of the paper's Section 3: kernels, indicators, bandwidth, and moments along the confounder.

:mod:`plaggm.core.kernel.literal` is the estimator as printed, :mod:`plaggm.core.profile.kernel` the fast
equivalent.
"""
