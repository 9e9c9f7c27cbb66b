"""Rows of contacts."""
