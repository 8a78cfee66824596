"""Hand-written handlers and application objects: requests, answers, OpenAPI."""
