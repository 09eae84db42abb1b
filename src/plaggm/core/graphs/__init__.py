"""What is read off a finished network: centrality, communities, and places for a picture."""
