"""Queries over models."""
