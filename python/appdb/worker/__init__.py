"""The worker: a long-lived process that computes columns with the functions of the application."""
