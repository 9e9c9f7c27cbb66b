"""Contacts of two rigid shapes, one file a pair or an algorithm."""
