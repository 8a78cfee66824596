"""Rows of any source, the types of their columns, and the forms in which they are sent."""
