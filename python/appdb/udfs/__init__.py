"""The application's functions and aggregates: how they are declared, and how a call of one is bound."""
