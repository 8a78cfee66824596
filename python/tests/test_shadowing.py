"""Only shadowed project modules are reported as warnings."""


def package(project, name):
    (project.root / name).mkdir()
    (project.root / name / "__init__.py").write_text("", encoding="utf-8")


APP = "class A(Base, name='a'):\n    n: db.Int\n"


def test_a_module_with_a_name_of_pythons_own_or_of_the_library_is_a_warning(project):
    project.write(sys="", time="", statistics="", msgpack="", helpers="")
    package(project, "queue")
    warnings = project.manifest("import helpers\n" + APP)["warnings"]
    assert warnings == [
        "msgpack.py has the name of the installed package msgpack: all get the one that is imported first. Rename msgpack.py.",
        "queue has the name of Python's own module queue: all get the one that is imported first. Rename queue.",
        "statistics.py has the name of Python's own module statistics: all get the one that is imported first. Rename statistics.py.",
        "sys.py is shadowed by Python's own module sys: `import sys` gives that one. Rename sys.py.",
        "time.py is shadowed by Python's own module time: `import time` gives that one. Rename time.py.",
    ]


def test_a_module_that_an_installed_package_has_taken_already_is_a_warning(project):
    package(project, "appdb")
    installed = project.root / "elsewhere"
    installed.mkdir()
    (installed / "words.py").write_text("", encoding="utf-8")
    project.write(words="")
    source = f"import sys\nsys.path.insert(0, {str(installed)!r})\nimport words\nsys.path.pop(0)\n" + APP
    assert project.manifest(source)["warnings"] == [
        "appdb is shadowed by the installed package appdb: `import appdb` gives that one. Rename appdb.",
        "words.py is shadowed by the installed package words: `import words` gives that one. Rename words.py.",
    ]


def test_modules_with_names_of_their_own_are_no_warning_imported_or_not(project):
    project.write(helpers="", unused="", deep__json="")
    package(project, "words")
    (project.root / "json").mkdir()
    assert project.manifest("import helpers, words\n" + APP)["warnings"] == []
