"""Robots built by code from published numbers, one file each."""
