import subprocess
import sys
import tomllib

import tamis


def test_the_version_is_in_one_place(repository):
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


def test_no_file_names_a_registry_host(repository):
    """Which registries are used is the business of whoever builds, not of this tree."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True
    )
    hosts = ["repo1.maven" + ".org", "pypi" + ".org", "files.python" + "hosted"]
    for name in listed.stdout.splitlines():
        path = repository / name
        if path.is_file() and path.suffix not in {".parquet", ".arrow", ".png"}:
            text = path.read_text("utf-8", errors="replace")
            assert not [host for host in hosts if host in text], name
