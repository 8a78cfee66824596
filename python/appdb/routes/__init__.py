"""The kinds of routes, one module each: the methods of a router that declare one, their checks, and their manifest
form.

`appdb.serving.Router` lists the methods. A handler route (`handler`) is loaded on first use.
"""
