"""Estimates of the memory and the duration of a fit before it starts."""
