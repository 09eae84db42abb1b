"""Ways to remove the nuisance: each turns rows into node Gram matrices."""
