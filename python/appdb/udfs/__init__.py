"""The application's functions and aggregates: their declaration, and the binding of calls."""
