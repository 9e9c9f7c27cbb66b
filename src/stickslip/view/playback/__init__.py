"""A recording in a web page."""
