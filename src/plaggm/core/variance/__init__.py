"""The noise of the nodes: conditional standard deviations, and how they follow the confounder."""
