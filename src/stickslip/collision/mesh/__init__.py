"""Contacts with triangle meshes."""
