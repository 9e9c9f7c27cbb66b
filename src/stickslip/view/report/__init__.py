"""A page about a run."""
