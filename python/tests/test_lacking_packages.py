"""Packages that functions of media need: found without loading them, and named with their line where they are missing."""

import json
import os
import subprocess
import sys
import venv

import pytest
from conftest import LIBRARY, environment



def test_a_file_with_functions_of_images_loads_no_package(project):
    project.write(
        app="import sys\nimport appdb as db\nimport appdb.functions as fn\nBase = db.model_base()\n"
        "class A(Base, name='a'):\n    p: db.Image\n    x = p.resize((2, 2)).b64_encode()\n"
        "print(sorted({'PIL', 'av', 'numpy'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = project.run()
    assert done.returncode == 0 and done.stderr.decode().strip() == "[]"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python without packages."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


LACKING = [
    ("    p: db.Image\n", "Column 'p' needs the package pillow, which the environment lacks.", "pillow>=11"),
    (
        "    p: db.Image['RGB'] | None\n",
        "Column 'p' needs the package pillow, which the environment lacks.",
        "pillow>=11",
    ),
    ("    p: db.Video\n", "Column 'p' needs the package av, which the environment lacks.", "av>=15"),
    ("    p: db.Audio\n", "Column 'p' needs the package av, which the environment lacks.", "av>=15"),
    (
        "    p: db.Document; t = p.extract_text()\n",
        "document.extract_text() needs the package pypdfium2, which the environment lacks.",
        "pypdfium2>=5",
    ),
]


@pytest.mark.parametrize(("column", "detail", "line"), LACKING)
def test_a_lacking_package_is_named_with_its_line_of_requirements(project, bare, column, detail, line):
    project.write(app=f"import appdb as db\nBase = db.model_base()\nclass A(Base, name='a'):\n{column}    n: db.Int\n")
    done = subprocess.run(
        [bare, "-P", "-m", "appdb.manifest", "app.py"],
        cwd=project.root,
        env={**environment(), "PYTHONPATH": os.fspath(LIBRARY)},
        capture_output=True,
    )
    error = json.loads(done.stdout)["error"]
    assert (error["detail"], error["hint"]) == (detail, f"Add to requirements.txt: {line}")
    assert error["source"] == {"file": "app.py", "line": 4}


@pytest.mark.parametrize(
    ("first", "detail", "lines"),
    [
        (
            "from PIL import Image",
            "The module 'PIL' is not there. The file also needs av>=15 and pandas and pypdfium2>=5.",
            "pillow>=11 and av>=15 and pandas and pypdfium2>=5",
        ),
        (
            "import json",
            "Column 'p' needs the package pillow, which the environment lacks. The file also needs av>=15 and pandas and pypdfium2>=5.",
            "pillow>=11 and av>=15 and pandas and pypdfium2>=5",
        ),
    ],
)
def test_all_lacking_packages_are_named_at_once(project, bare, first, detail, lines):
    project.write(
        app=f"{first}\nimport appdb as db\nfrom typing import TYPE_CHECKING\nimport own\nBase = db.model_base()\n"
        "if TYPE_CHECKING:\n    import torch\n"
        "try:\n    import scipy\nexcept ImportError:\n    scipy = None\n"
        "class A(Base, name='a'):\n    p: db.Image\n    v: db.Video\n    d: db.Document\n    t = d.extract_text()\n"
        "@db.udf\ndef f(n: int) -> int:\n    import pandas\n    return n\n"
    )
    (project.root / "own.py").write_text("x = 1\n")
    done = subprocess.run(
        [bare, "-P", "-m", "appdb.manifest", "app.py"],
        cwd=project.root,
        env={**environment(), "PYTHONPATH": os.fspath(LIBRARY)},
        capture_output=True,
    )
    error = json.loads(done.stdout)["error"]
    assert (error["detail"], error["hint"]) == (detail, f"Add to requirements.txt: {lines}")


def test_a_document_needs_no_package(project, bare):
    project.write(app="import appdb as db\nBase = db.model_base()\nclass A(Base, name='a'):\n    d: db.Document\n")
    env = {**environment(), "PYTHONPATH": os.fspath(LIBRARY)}
    done = subprocess.run(
        [bare, "-P", "-m", "appdb.manifest", "app.py"], cwd=project.root, env=env, capture_output=True
    )
    assert done.returncode == 0, done.stdout
