"""Shapes, convex hulls and mass properties; knows no dynamics."""
