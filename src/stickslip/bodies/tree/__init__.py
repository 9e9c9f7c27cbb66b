"""Trees of links in joint coordinates."""
