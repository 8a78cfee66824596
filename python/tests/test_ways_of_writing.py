"""Other features of a file: ways of writing, constants, comments, previous names, and its place."""

from conftest import HEAD, texts


def test_functions_are_reached_in_every_way_of_writing(project):
    table = project.table(
        """
        from appdb.functions import string
        from appdb.functions.string import lower
        from appdb.functions.uuid import uuid4
        class A(Base, name='a'):
            s: db.String
            a = fn.string.upper(s)
            b = fn.upper(s)
            c = s.upper()
            d = string.strip(s)
            e = lower(s)
            f = db.functions.len(s)
            g = db.Column(value=uuid4())
            h = fn.string.format('{} {}', s, 1)
        """
    )
    assert list(texts(table).values())[1:] == [
        "upper(s)", "upper(s)", "upper(s)", "strip(s)", "lower(s)", "len(s)", "uuid4()", "format('{} {}', s, 1)",
    ]  # fmt: skip


def test_functions_run_over_plain_values_too(project):
    project.manifest(
        """
        @db.udf
        def half(n: int) -> float:
            return n / 2
        assert half(3) == 1.5
        assert upper('a') == 'A' and fn.string.split('a b') == ['a', 'b']
        class A(Base, name='a'):
            n: db.Int
            one = half(3)
        assert isinstance(half, type(half)) and half.function(4) == 2.0
        """
    )


def test_constants_are_computed_columns(project):
    columns = project.columns(
        """
        from datetime import date, datetime, timezone
        from uuid import UUID
        class A(Base, name='a'):
            n: db.Int
            five = 5
            text = 'x'
            f = 0.5
            yes = True
            day = date(2024, 2, 29)
            at = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
            u = UUID(int=1)
        """
    )
    values = {name: c["computed"]["expr"]["value"] for name, c in columns.items() if c["computed"]}
    assert values == {
        "five": "5", "text": "x", "f": 0.5, "yes": True, "day": "2024-02-29", "at": "2024-01-01T12:00:00Z",
        "u": "00000000-0000-0000-0000-000000000001",
    }  # fmt: skip


def test_docstring_comment_metadata_and_defaults(project):
    document = project.manifest(
        '''
        class A(Base, name="My-Table", has_default_idxs=True, custom_metadata={"b": 1, "a": [2]}, media_validation="on_write"):
            """First line.

            Second line.
            """
            n = db.Column(db.Int, comment="how many", custom_metadata={"unit": "kg"})
            m: db.Int
        class B(Base, name="b", comment="said"):
            """not this"""
            Name: db.String
        '''
    )
    a, b = document["tables"][1], document["tables"][0]
    assert (a["name"], a["model"], a["comment"]) == ("my-table", "A", "First line.\n\nSecond line.")
    assert (a["has_default_idxs"], a["custom_metadata"]) == (True, {"b": 1, "a": [2]})
    assert (a["columns"][0]["comment"], a["columns"][0]["custom_metadata"]) == ("how many", {"unit": "kg"})
    assert (b["comment"], b["columns"][0]["name"], b["primary_key"]) == ("said", "name", [])


def test_a_composite_key_keeps_its_declared_order(project):
    table = project.table(
        """
        class A(Base, name='a'):
            z = db.Column(type=db.String, primary_key=True)
            a = db.Column(db.Int, primary_key=True)
        """
    )
    assert table["primary_key"] == ["z", "a"]


def test_what_the_file_prints_stays_out_of_the_document(project):
    project.write(
        app=HEAD + "import os\nprint('hello')\nos.write(1, b'raw')\nclass A(Base, name='a'):\n    n: db.Int\n"
    )
    done = project.run()
    assert done.stdout.startswith(b'{"manifest_version"') and done.returncode == 0
    assert b"hello" in done.stderr and b"raw" in done.stderr


def test_the_file_is_found_from_anywhere(project, tmp_path_factory):
    project.write(sub__app=HEAD + "class A(Base, name='a'):\n    n: db.Int\n")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = project.run("sub/app.py", "--root", str(project.root), cwd=elsewhere)
    assert b'"app_file":"sub/app.py"' in done.stdout
    done = project.run(str(project.root / "sub" / "app.py"), f"--root={project.root}", cwd=elsewhere)
    assert b'"app_file":"sub/app.py"' in done.stdout


def test_a_function_may_have_other_decorators_below(compute):
    source = """
        import functools
        def twice(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                return function(*args, **kwargs) * 2
            return inner
        @db.udf
        @twice
        def name(n: int, *, mark: str = '!') -> str:
            return str(n) + mark
        class A(Base, name='a'):
            n: db.Int
            x = name(n)
            y = name(n, mark='?')
        """
    assert compute(source, [1]) == ([{"x": "1!1!", "y": "1?1?"}], [None])


def test_former_names_of_tables_and_columns(project):
    document = project.manifest(
        """
        class A(Base, name="a", renamed_from="Old-A"):
            n: db.Int
            m = db.Column(db.Int, renamed_from="Was")
            up = db.Column(value=m + 1, renamed_from="n_up")
        """
    )
    table = document["tables"][0]
    assert table["renamed_from"] == "old-a"
    assert [column["renamed_from"] for column in table["columns"]] == [None, "was", "n_up"]
