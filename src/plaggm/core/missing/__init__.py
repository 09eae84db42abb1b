"""Conditional expectations of missing cells, and the EM algorithm's estimates from them."""
