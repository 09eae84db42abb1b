"""What is learnt from the columns of a table before anything is fitted.

Far values, normal scores, the filter of time series, and columns or rows that repeat others.
"""
