"""A recording as one HTML file."""
