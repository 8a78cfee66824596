"""Reads an application file into its manifest, and makes the errors for a file that cannot be read."""
