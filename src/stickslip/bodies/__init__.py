"""Who owns unknowns: one folder a kind of body."""
