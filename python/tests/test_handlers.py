"""Handlers: their manifest, and refusals when the file is read."""

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


def test_a_handler_without_words_is_described_by_its_name(project):
    first, second = routes(project, "@router.get('/a')\ndef all_of(): pass\n@router.get('/b', name='the_rest')\ndef b(): pass\n")
    assert [first["openapi"]["summary"], second["openapi"]["summary"]] == ["All of", "The rest"]


def test_a_function_with_two_routes_has_two_names(project):
    found = routes(project, "@router.get('/a')\n@router.post('/b')\ndef f(): pass\n")
    assert [(route["path"], route["handler"]["id"]) for route in found] == [("/b", "app:f"), ("/a", "app:f#1")]


def test_an_answer_s_type_is_what_the_function_says_it_is(project):
    found = routes(
        project,
        """
from appdb.serving import HTMLResponse, RedirectResponse
@router.get("/a")
def a() -> HTMLResponse: pass
@router.get("/b")
def b() -> RedirectResponse: pass
@router.get("/c")
def c():
    yield 1
@router.get("/d")
async def d(): pass
@router.get("/e")
def e() -> bytes: pass
""",
    )
    answers = {route["path"]: route["openapi"]["responses"] for route in found}
    types = {path: {status: [*one.get("content", ())] for status, one in own.items()} for path, own in answers.items()}
    assert types == {
        "/a": {"200": ["text/html"]},
        "/b": {"3XX": []},
        "/c": {"200": []},
        "/d": {"200": ["application/json"]},
        "/e": {"200": ["application/octet-stream"]},
    }


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
        ("@router.get()\ndef f(): pass", "The route has no path (None)", '@router.get("/items")'),
        ("@router.get('/a', name=5)\ndef f(): pass", "name= is text", 'name="..."'),
        ("@router.get('/a', deprecated='no')\ndef f(): pass", "True or False, not 'no'", "deprecated=True"),
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
        ("@router.get('/a')\ndef f(): pass\n@router.get('/b')\ndef f(): pass", "is hidden by another object", "own name"),
        ("@router.websocket('/a')\ndef f(): pass", "WebSocket", "live query"),
    ],
)
def test_what_cannot_be_served_is_refused_with_its_line(project, source, detail, hint):
    error = project.error(MODEL + source)
    assert detail in error["detail"] and hint in error["hint"], error
    assert error["source"]["file"] == "app.py"


def services(project, source):
    return {service["name"]: service for service in project.manifest(MODEL + source)["services"]}


def test_a_router_in_a_router_is_no_service_of_its_own(project):
    found = services(
        project,
        """
items = Router(prefix="/items", tags=["items"])
@items.get("/{item_id}", tags=["one"])
def show(item_id: int): pass
items.add_insert_route(Items, path="/new")
router.include_router(items, prefix="/shop", tags=["shop"])
""",
    )
    assert [*found] == ["api"]
    assert [route["path"] for route in found["api"]["routes"]] == ["/shop/items/{item_id}", "/shop/items/new"]
    assert found["api"]["routes"][0]["openapi"]["tags"] == ["shop", "items", "one"]


def test_tags_and_cors_stand_at_the_service(project):
    found = services(
        project,
        """
from appdb.serving import Cors
plain = Router(tags=["a", "b"], cors="https://app.example")
strict = Router(cors=Cors(["https://a.example"], methods=["get"], headers=["x-own"], credentials=True, max_age=5))
""",
    )
    assert found["api"]["tags"] == [] and found["api"]["cors"] is None
    assert found["plain"]["tags"] == ["a", "b"]
    rule = {"origins": ["https://app.example"], "methods": None, "headers": None, "credentials": False, "max_age_s": 600}
    assert found["plain"]["cors"] == rule
    assert found["strict"]["cors"] == {
        "origins": ["https://a.example"],
        "methods": ["GET"],
        "headers": ["x-own"],
        "credentials": True,
        "max_age_s": 5,
    }


@pytest.mark.parametrize(
    "source, detail",
    [
        ("router.include_router(3)", "takes a router, not int"),
        ("router.include_router(router)", "is included in itself"),
        ("b = Router()\nb.include_router(router)\nrouter.include_router(b)", "is included in itself"),
        ("b = Router()\nrouter.include_router(b)\n@b.get('/x')\ndef f(): pass", "that was included before"),
        ("b = Router(cors='*')\nrouter.include_router(b)", "with cors= is included in another one"),
        (
            "b = Router()\n@b.get('/x/{y}')\ndef f(y): pass\n@router.get('/x/{z}')\ndef g(z): pass\nrouter.include_router(b)",
            "is declared twice",
        ),
        ("Router(cors='app.example')", "which is not an origin"),
        ("Router(cors=['https://a.example/'])", "which is not an origin"),
        ("from appdb.serving import Cors\nCors('*', credentials=True)", "use the credentials of a visitor"),
        ("Router(tags='x')", "tags= is a list of texts"),
        ("Router(tags=5)", "tags= is a list of texts"),
        ("Router(cors=5)", "origins= of cors is a list of texts"),
    ],
)
def test_what_a_router_cannot_be_is_refused(project, source, detail):
    assert detail in project.error(MODEL + source)["detail"]


def test_of_several_application_objects_one_has_to_be_named_app(project):
    one = "async def {0}(scope, receive, send): pass\n"
    model = MODEL.replace("router = Router(name='api', prefix='/v1')\n", "")
    error = project.error(model + one.format("first") + one.format("second"))
    assert "'first', 'second'" in error["detail"]
    document = project.manifest(model + one.format("first") + one.format("app"))
    assert document["services"][0]["app"]["id"] == "app:app"


def test_the_prefix_alone_is_a_path(project):
    source = "items = Router(prefix='/items')\n@items.get('', status_code=204)\ndef f() -> None: pass\n"
    (route,) = services(project, source + "router.include_router(items)\n")["api"]["routes"]
    assert (route["path"], [*route["openapi"]["responses"]["204"]]) == ("/items", ["description"])
    assert "does not begin with '/'" in project.error(MODEL + "@router.get('x')\ndef f(): pass\n")["detail"]
