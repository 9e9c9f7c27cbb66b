"""Sweeps: a scene run again and again with other numbers, on one machine or on many."""
