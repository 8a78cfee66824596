"""From an application file to its manifest, and what a person is told of a file that cannot be read."""
