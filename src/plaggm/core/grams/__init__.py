"""Node Gram matrices, in which all ways of removing the nuisance end and the lasso begins."""
