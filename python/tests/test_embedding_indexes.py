"""Embedding indexes and similarity in a file: the resulting manifest, and refusals."""

import pytest

MODEL = '''
@db.udf
def embed(text: str, scale: float = 1.0) -> db.Array[(4,), db.Float]:
    return [scale] * 4
@db.udf
def loose(text: str) -> db.Array[db.Float]:
    return [1.0]
@db.udf
def square(text: str) -> db.Array[(2, 2), db.Float]:
    return [[1.0, 2.0], [3.0, 4.0]]
@db.udf
def whole(text: str) -> db.Array[(4,), db.Int]:
    return [1, 2, 3, 4]
@db.udf
def wide(text: str) -> db.Array[(3000,), db.Float]:
    return [1.0] * 3000
@db.udf
def of_doc(doc: dict) -> db.Array[(4,), "float64"]:
    return [1.0] * 4
def plain(text): return [1.0]
class Docs(Base, name="docs"):
    text: db.String | None
    doc: db.Json
    vector: db.Array[(3,), db.Float]
    ragged: db.Array[(None,), db.Float]
    n: db.Int
    upper_text = upper(text)
'''


def indexed(*indexes):
    return MODEL + f"    __indexes__ = [{', '.join(indexes)}]\n"


def test_an_index_is_a_hidden_column_and_its_options(project):
    table = project.table(
        indexed(
            "db.EmbeddingIndex(text, embedding=embed, name='a')",
            "db.EmbeddingIndex(text, embedding=embed, metric='ip', name='b')",
            "db.EmbeddingIndex(text, string_embed=embed.using(scale=2.0), metric='l2', precision='fp32', name='c')",
            "db.EmbeddingIndex('doc', of_doc)",
            "db.EmbeddingIndex(column=vector)",
            "db.BtreeIndex(n)",
        )
    )
    shown = [
        (index["kind"], index["name"], index["columns"], *map(index.get, ("values", "metric", "precision")))
        for index in table["indexes"]
    ]
    assert shown == [
        ("embedding", "a", ["text"], "_embedding_text", "cosine", "fp16"),
        ("embedding", "b", ["text"], "_embedding_text", "ip", "fp16"),
        ("embedding", "c", ["text"], "_embedding_text_2", "l2", "fp32"),
        ("embedding", None, ["doc"], "_embedding_doc", "cosine", "fp16"),
        ("embedding", None, ["vector"], None, "cosine", "fp16"),
        ("btree", None, ["n"], None, None, None),
    ]
    hidden = {column["name"]: column for column in table["columns"] if column.get("is_hidden")}
    assert {name: column["computed"]["text"] for name, column in hidden.items()} == {
        "_embedding_text": "embed(text)",
        "_embedding_text_2": "embed(text, scale=2.0)",
        "_embedding_doc": "of_doc(doc)",
    }
    assert hidden["_embedding_text"]["type"] == {"kind": "array", "dtype": "float32", "shape": [4], "vector": "fp16"}
    assert hidden["_embedding_doc"]["type"]["dtype"] == "float64"
    assert all(column["nullable"] for column in hidden.values())
    assert "is_hidden" not in table["columns"][0]


def test_a_query_selects_no_hidden_column_and_asks_by_node(project):
    document = project.manifest(
        indexed("db.EmbeddingIndex(text, embedding=embed)", "db.EmbeddingIndex(vector)")
        + """
class Other(Base, name="other"):
    text: db.String
    __indexes__ = [db.EmbeddingIndex(text, embedding=embed, metric='l2', name='far')]
@db.query
def near(q: str, v: db.Array[(3,), db.Float]):
    sim = Docs.text.similarity(string=q)
    return Docs.join(Other, on=Docs.text == Other.text).order_by(sim, asc=False).select(
        Docs.n, sim, far=Other.text.similarity(string='x', idx='far'),
        v=Docs.vector.similarity(vector=v), w=Docs.vector.similarity(vector=[1, 2, 3]))
@db.query
def all_of_it(): return Docs
"""
    )
    near = next(query for query in document["queries"] if query["name"] == "near")["query"]
    assert [one["name"] for one in near["select"]] == ["n", "similarity", "far", "v", "w"]
    node = near["order_by"][0]["expr"]
    assert node == near["select"][1]["expr"]
    assert {key: node[key] for key in ("node", "column", "of", "index", "metric", "nullable")} == {
        "node": "similarity", "column": "text", "of": "docs", "index": None, "metric": "cosine", "nullable": True,
    }  # fmt: skip
    assert node["value"]["node"] == "parameter"
    far = near["select"][2]["expr"]
    assert (far["of"], far["index"], far["metric"]) == ("other", "far", "l2")
    assert near["select"][4]["expr"]["value"]["value"] == "[1.0,2.0,3.0]"
    all_of_it = next(query for query in document["queries"] if query["name"] == "all_of_it")["query"]
    assert [one["name"] for one in all_of_it["select"]] == ["text", "doc", "vector", "ragged", "n", "upper_text"]


REFUSED = {
    "a column of another type": ("db.EmbeddingIndex(n, embedding=embed)", ["'n' is Int", "String, Json, Array, Image, Video, Audio or Document"]),
    "text without a function": ("db.EmbeddingIndex(text)", ["no function", "embedding=function"]),
    "an array of any length": ("db.EmbeddingIndex(ragged)", ["'ragged'", "fixed length", "db.Array[(384,), db.Float]"]),
    "a function with any shape": ("db.EmbeddingIndex(text, embedding=loose)", ["loose(text)", "Array[float32]"]),
    "a function with two dimensions": ("db.EmbeddingIndex(text, embedding=square)", ["square(text)", "one dimension"]),
    "a function of whole numbers": ("db.EmbeddingIndex(text, embedding=whole)", ["whole(text)", "of floats"]),
    "a function that is not marked": ("db.EmbeddingIndex(text, embedding=plain)", ["plain", "@db.udf"]),
    "a function of another type": ("db.EmbeddingIndex(vector, embedding=embed)", ["embed()", "Array[(3,), float32]"]),
    "too many dimensions": (
        "db.EmbeddingIndex(text, embedding=wide, precision='fp32')",
        ["3000 dimensions", "2000", "fp16"],
    ),
    "two functions": ("db.EmbeddingIndex(text, embedding=embed, string_embed=embed)", ["two functions"]),
    "a function for text on Json": ("db.EmbeddingIndex(doc, string_embed=embed)", ["EmbeddingIndex(doc) has string_embed=", "vectors of Json"]),
    "an unknown metric": ("db.EmbeddingIndex(text, embedding=embed, metric='cos')", ["'cos'", "cosine"]),
    "an unknown precision": ("db.EmbeddingIndex(text, embedding=embed, precision='fp8')", ["'fp8'", "fp16"]),
    "an unknown option": ("db.EmbeddingIndex(text, embeding=embed)", ["'embeding'", "embedding"]),
    "a column that is not there": ("db.EmbeddingIndex('texts', embedding=embed)", ["'texts'", "text"]),
    "an expression": ("db.EmbeddingIndex(text + 'x', embedding=embed)", ["text + 'x'", "computed column"]),
    "no column": ("db.EmbeddingIndex(embedding=embed)", ["no column"]),
    "several without a name": (
        "db.EmbeddingIndex(text, embedding=embed), db.EmbeddingIndex(text, embedding=embed, metric='l2')",
        ["several", "name="],
    ),
    "one name twice": (
        "db.BtreeIndex(n, name='a'), db.EmbeddingIndex(text, embedding=embed, name='a')",
        ["'a'", "Rename"],
    ),
    "a function for images on text": (
        "db.EmbeddingIndex(text, image_embed=embed)",
        ["image_embed= and no function that makes vectors of String"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_index_is_refused(project, name):
    written, words = REFUSED[name]
    error = project.error(indexed(written))
    assert error["code"] == "app_invalid"
    for word in words:
        assert word in error["detail"] + error["hint"], error
    assert error["source"]["line"] > 30


TWO = (
    "db.EmbeddingIndex(text, embedding=embed, name='a')",
    "db.EmbeddingIndex(text, embedding=embed, metric='l2', name='b')",
)
ASKED = {
    "a column without an index": ("Docs.n.similarity(string=q)", ["'n' of Docs", "EmbeddingIndex(n"]),
    "one of several": ("Docs.text.similarity(string=q)", ["several", "'a', 'b'", 'idx="a"']),
    "an index that is not there": ("Docs.text.similarity(string=q, idx='aa')", ["'aa'", "a"]),
    "a name where there is none": ("Docs.doc.similarity(json=doc, idx='a')", ["'a'", "without a name"]),
    "nothing": ("Docs.text.similarity(idx='a')", ["given nothing", "string="]),
    "two things": ("Docs.text.similarity(string=q, vector=[1, 2, 3, 4], idx='a')", ["two values"]),
    "pictures": ("Docs.text.similarity(image=q, idx='a')", ["asked of String", "no function for Image", "image_embed="]),
    "an unknown thing": ("Docs.text.similarity(text=q, idx='a')", ["'text'", "string="]),
    "text of vectors": ("Docs.vector.similarity(string=q)", ["vector="]),
    "text of Json": ("Docs.doc.similarity(string=q)", ["Json", "json="]),
    "a number as text": ("Docs.text.similarity(string=5, idx='a')", ["Int"]),
    "a vector of another length": ("Docs.vector.similarity(vector=[1, 2])", ["not a valid Array[(3,), float32]"]),
    "a vector of text": ("Docs.vector.similarity(vector=q)", ["q is String", "Array[(3,), db.Float]"]),
    "a vector of another type": ("Docs.vector.similarity(vector=ints)", ["ints is Array[(3,), int64]"]),
    "a value of the row": ("Docs.text.similarity(string=Docs.text, idx='a')", ["differs by row"]),
    "an expression": ("upper(Docs.text).similarity(string=q)", ["not a column", "computed column"]),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_likeness_is_refused(project, name):
    written, words = ASKED[name]
    error = project.error(
        indexed(*TWO, "db.EmbeddingIndex(doc, embedding=of_doc)", "db.EmbeddingIndex(vector)")
        + "@db.query\ndef near(q: str, doc: dict, ints: db.Array[(3,), db.Int]):\n"
        + f"    return Docs.order_by({written}, asc=False).limit(3)\n"
    )
    for word in words:
        assert word in error["detail"] + error["hint"], error


def test_two_indexes_without_a_name_are_named_by_their_number(project):
    error = project.error(
        MODEL + "class Base1(Base, name='base1'):\n    text: db.String\n    __indexes__ = [db.EmbeddingIndex(text, embedding=embed)]\n"
        "class V(Base, name='v', base=Base1):\n    __indexes__ = [db.EmbeddingIndex(Base1.text, embedding=embed)]\n"
        "@db.query\ndef q(q: str):\n    return V.select(V.text, near=V.text.similarity(string=q))\n"
    )
    assert error["detail"] == "Column 'text' has 2 embedding indexes, and 2 of them without a name."
    assert 'name="by_words"' in error["hint"]


def test_a_column_cannot_be_a_likeness(project):
    error = project.error(indexed(*TWO) + "    near = text.similarity(string='x', idx='a')\n")
    assert "@db.query" in error["hint"]


def test_a_group_does_not_have_one_likeness(project):
    error = project.error(
        indexed(TWO[0]) + "@db.query\ndef q(): return Docs.group_by(Docs.n).select(Docs.text.similarity(string='x'))\n"
    )
    assert "'text'" in error["detail"] and "group" in error["detail"]


PICTURES = """
@db.udf
def of_picture(picture: db.Image) -> db.Array[(4,), db.Float]:
    return [1.0] * 4
@db.udf
def of_words(words: str, *, scale: float) -> db.Array[(4,), db.Float]:
    return [scale] * 4
@db.udf
def short(words: str) -> db.Array[(3,), db.Float]:
    return [1.0] * 3
@db.udf
def both(picture: db.Image) -> db.Array[(4,), db.Float]:
    return [1.0] * 4
@both.overload
def both_words(words: str) -> db.Array[(4,), db.Float]:
    return [2.0] * 4
class Photos(Base, name="photos"):
    picture: db.Image | None
    sound: db.Audio
    vector: db.Array[(4,), db.Float]
"""


def pictured(index, query=""):
    return PICTURES + f"    __indexes__ = [{index}]\n" + (f"@db.query\n{query}\n" if query else "")


INDEXES = {
    "db.EmbeddingIndex(picture, embedding=of_picture)": ("of_picture(picture)", {}),
    "db.EmbeddingIndex(picture, image_embed=of_picture)": ("of_picture(picture)", {}),
    "db.EmbeddingIndex(picture, both)": ("both(picture)", {"string": "#1"}),
    "db.EmbeddingIndex(picture, of_picture, string_embed=of_words.using(scale=2.0))": (
        "of_picture(picture)",
        {"string": ":of_words"},
    ),
    "db.EmbeddingIndex(vector, string_embed=of_words.using(scale=2.0))": (None, {"string": ":of_words"}),
}


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_is_over_media(project, index):
    text, embeds = INDEXES[index]
    document = project.manifest(pictured(index))
    (table,) = document["tables"]
    (declared,) = table["indexes"]
    hidden = [column["computed"]["text"] for column in table["columns"] if column.get("is_hidden")]
    assert hidden == ([] if text is None else [text])
    made = declared.get("embeds", {})
    assert list(made) == list(embeds)
    known = [function["id"] for function in document["functions"]]
    for kind, end in embeds.items():
        assert made[kind]["function"].endswith(end) and made[kind]["function"] in known
        assert made[kind]["args"][0] == {"node": "parameter", "name": "value", "type": {"kind": kind}, "nullable": False}


def test_a_query_compares_media_and_texts(project):
    index = "db.EmbeddingIndex(picture, of_picture, string_embed=of_words.using(scale=2.0))"
    query = """def near(picture: db.Image, words: str, v: db.Array[(4,), db.Float]):
    a = Photos.picture.similarity(image=picture)
    return Photos.order_by(a, asc=False).select(
        a=a, b=Photos.picture.similarity(string=words), c=Photos.picture.similarity("red"),
        d=Photos.picture.similarity(picture), e=Photos.picture.similarity(vector=v))"""
    (near,) = project.manifest(pictured(index, query))["queries"]
    values = [one["expr"]["value"] for one in near["query"]["select"]]
    assert [value["type"]["kind"] for value in values] == ["image", "string", "string", "image", "array"]
    assert [parameter["type"]["kind"] for parameter in near["parameters"]] == ["image", "string", "array"]


MEDIA_REFUSED = {
    "media without a function": ("db.EmbeddingIndex(picture)", ["no function that makes vectors of Image"]),
    "a function of another kind": ("db.EmbeddingIndex(sound, embedding=of_picture)", ["of_picture()", "Audio"]),
    "only a function for texts": ("db.EmbeddingIndex(picture, string_embed=short)", ["string_embed= and no function"]),
    "two functions": ("db.EmbeddingIndex(picture, both, image_embed=of_picture)", ["image_embed=, two functions"]),
    "vectors of another length": (
        "db.EmbeddingIndex(picture, of_picture, string_embed=short)",
        ["short(value)", "Array[(3,), float32]", "Array[(4,), float32]", "one model"],
    ),
}


@pytest.mark.parametrize("name", MEDIA_REFUSED)
def test_an_index_over_media_is_refused(project, name):
    index, words = MEDIA_REFUSED[name]
    error = project.error(pictured(index))
    for word in words:
        assert word in error["detail"] + error["hint"], error


LIKENESS_REFUSED = {
    "a path": ("Photos.picture.similarity(image='a.png')", ["a parameter", "'a.png'", "image: db.Image"]),
    "a text as an image": ("Photos.picture.similarity(image=q)", ["q is String", "parameter of type db.Image"]),
    "a kind without a function": ("Photos.picture.similarity(string=q)", ["no function for String", "string_embed="]),
    "a column": ("Photos.picture.similarity(image=Photos.picture)", ["differs by row"]),
}


@pytest.mark.parametrize("name", LIKENESS_REFUSED)
def test_a_likeness_of_media_is_refused(project, name):
    written, words = LIKENESS_REFUSED[name]
    query = f"def near(q: str):\n    return Photos.order_by({written}, asc=False).limit(3)"
    error = project.error(pictured("db.EmbeddingIndex(picture, embedding=of_picture)", query))
    for word in words:
        assert word in error["detail"] + error["hint"], error
