"""Recordings and contact problems in files; every file is written whole or not at all."""
