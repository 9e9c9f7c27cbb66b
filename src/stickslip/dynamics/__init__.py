"""Rigid bodies: the matrix A, the free velocity, the rows of contacts, the energies; knows no solver."""
