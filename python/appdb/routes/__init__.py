"""The kinds of routes, one module each: the methods of a router that declare one, what they refuse, and what the manifest says.

`appdb.serving.Router` lists the methods. A hand-written route (`handler`) is loaded by the first.
"""
