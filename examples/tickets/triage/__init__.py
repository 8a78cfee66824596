"""Triage of support tickets: text.py has the functions, history.py and models.py the tables, queries.py what is asked."""
