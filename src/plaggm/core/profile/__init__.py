"""Removal of the nuisance: from rows to node Gram matrices."""
