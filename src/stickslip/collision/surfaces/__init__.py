"""Contacts of surfaces whose nodes move."""
