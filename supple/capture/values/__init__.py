"""Symbolic values: what the interpreter's stack holds instead of Python objects."""
