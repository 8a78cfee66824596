"""Expressions over columns: building, printing and running them."""
