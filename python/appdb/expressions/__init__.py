"""Expressions over columns: how they are built, printed and run."""
