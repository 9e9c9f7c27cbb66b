"""A running simulation in a web page."""
