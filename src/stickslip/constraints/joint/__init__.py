"""Rows of joints, their limits and drives."""
