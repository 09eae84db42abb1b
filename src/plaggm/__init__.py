"""The network your data would show without the confounder."""

__version__ = "0.1.0"
