"""Compiled loops, threads, and inverses of symmetric matrices: what all other rooms of the core use."""
