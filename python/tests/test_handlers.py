"""Hand-written handlers: what the manifest says of them, and what is refused when the file is read."""

import pytest

MODEL = "class Items(Base, name='items'):\n    id: db.Int\nrouter = Router(name='api', prefix='/v1')\n"


def routes(project, source):
    return project.manifest(MODEL + source)["services"][0]["routes"]


def test_a_handler_is_a_route_of_its_module_and_name(project):
    (route,) = routes(
        project,
        """
@router.get("/items/{item_id}", tags=["items"], timeout=5)
async def show(item_id: int, q: str = "x"):
    \"\"\"Shows one.\"\"\"
""",
    )
    openapi = route.pop("openapi")
    assert route.pop("source")["file"] == "app.py"
    assert route == {
        "kind": "handler",
        "method": "get",
        "path": "/items/{item_id}",
        "handler": {"id": "app:show", "module": "app", "name": "show"},
        "timeout_s": 5,
    }
    assert (openapi["summary"], openapi["tags"]) == ("Shows one", ["items"])
    assert openapi["parameters"] == [
        {"name": "item_id", "in": "path", "required": True, "schema": {"type": "integer", "format": "int64"}},
        {"name": "q", "in": "query", "required": False, "schema": {"type": "string", "default": "x"}},
    ]


def test_a_function_with_two_routes_has_two_names(project):
    found = routes(project, "@router.get('/a')\n@router.post('/b')\ndef f(): pass\n")
    assert [(route["path"], route["handler"]["id"]) for route in found] == [("/b", "app:f"), ("/a", "app:f#1")]


def test_bodies_are_what_a_url_cannot_hold(project):
    (route,) = routes(
        project,
        """
from typing import TypedDict, Literal
class Extra(TypedDict, total=False):
    note: str
@router.post("/a")
def f(extra: Extra, sort: Literal["up", "down"] = "up", wanted: list[int] = []): pass
""",
    )
    assert [one["name"] for one in route["openapi"]["parameters"]] == ["sort"]
    schema = route["openapi"]["requestBody"]["content"]["application/json"]["schema"]
    assert (list(schema["properties"]), schema["required"]) == (["extra", "wanted"], ["extra"])
    assert schema["properties"]["extra"]["required"] == []


@pytest.mark.parametrize(
    "source, detail, hint",
    [
        ("@router.get('/a/{b}')\ndef f(): pass", "The path has the parameter 'b'", "Add a parameter b: str"),
        ("@router.get('/a/{b}/{b}')\ndef f(b): pass", "has 'b' twice", "its own name"),
        ("@router.get('/a/{b:int}')\ndef f(b): pass", "says how 'b' is written", "type hint"),
        ("@router.get('/a/x{b}')\ndef f(b): pass", "has the part 'x{b}'", "A parameter is a whole part"),
        ("@router.get('/a')\ndef f(*args): pass", "takes *args or **kwargs", "Name each parameter"),
        ("@router.get('/a')\ndef f(b: dict): pass", "which a GET does not have", "@router.post"),
        ("@router.get('/a')\ndef f(b: set): pass", "has a type that a request cannot carry", "Write str, int"),
        ("@router.get('/a')\ndef f(b: 'Later'): pass", "names 'Later', which the module does not have", "Import it"),
        ("router.get('/a')(lambda: 1)", "A lambda cannot be a handler", "def"),
        ("router.get('/a')(3)", "which is not a function", "Put @router.get above a def"),
        ("def g():\n    @router.get('/a')\n    def f(): pass\ng()", "defined inside a function", "top of its module"),
        ("@router.get('/a', tag=1)\ndef f(): pass", "has no option 'tag'", "Did you mean 'tags'?"),
        ("@router.get('/a', dependencies=[1])\ndef f(): pass", "has no dependencies=", "fastapi.FastAPI()"),
        ("@router.get('/a', timeout=-1)\ndef f(): pass", "timeout= is a number of seconds", "timeout=5"),
        ("@router.get('/a', status_code=404)\ndef f(): pass", "status_code= is a number from 200 to 299", "HTTPError"),
        ("@router.get('/a/{x}')\ndef f(x): pass\n@router.get('/a/{y}')\ndef g(y): pass", "is declared twice", "another"),
        ("@router.get('/a')\ndef f(): pass\n@router.get('/b')\ndef f(): pass", "is covered by something else", "own name"),
        ("@router.websocket('/a')\ndef f(): pass", "WebSocket", "live query"),
    ],
)
def test_what_cannot_be_served_is_refused_with_its_line(project, source, detail, hint):
    error = project.error(MODEL + source)
    assert detail in error["detail"] and hint in error["hint"], error
    assert error["source"]["file"] == "app.py"
