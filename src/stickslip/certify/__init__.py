"""How wrong a step is, and what a person reads of it."""
