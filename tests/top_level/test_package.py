import subprocess
import sys
import tomllib

import tamis


def test_version_is_defined_once(repository):
    pyproject = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    assert pyproject["project"]["dynamic"] == ["version"]
    assert pyproject["tool"]["hatch"]["version"]["path"] == "python/tamis/_version.py"
    namespace = {}
    exec((repository / "python/tamis/_version.py").read_text("utf-8"), namespace)
    assert tamis.__version__ == namespace["__version__"]


def test_importing_tamis_is_cheap():
    heavy = "{'numpy', 'pyarrow', 'pyspark', 'py4j', 'typer', 'rich'}"
    code = f"import sys, tamis; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_build_names_no_host(repository):
    """The user of the build chooses the registries that serve it."""
    files = [repository / name for name in ("Makefile", "sbt", "build.sbt", "pyproject.toml")]
    for path in [*files, *(repository / ".ci").iterdir(), repository / "project" / "repositories"]:
        assert "://" not in path.read_text("utf-8"), path
