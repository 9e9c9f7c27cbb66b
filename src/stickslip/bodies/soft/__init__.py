"""Soft bodies."""
