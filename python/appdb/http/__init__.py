"""Handlers and application objects: requests, responses, OpenAPI."""
