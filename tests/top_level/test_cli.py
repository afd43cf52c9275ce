import json
import subprocess
import sys
import zipfile

import pytest

import tamis
import tamis.cli
import tamis.conf
import tamis.jar
from tamis.errors import TamisError
from tamis.reasons import REASONS
from tamis.wire.messages import VERSION


def run(*arguments):
    """Run `python -m tamis` without a terminal, and return (exit code, stdout, stderr)."""
    done = subprocess.run(
        [sys.executable, "-m", "tamis", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_version_is_printed():
    assert run("--version") == (0, f"{tamis.__version__}\n", "")


def test_jar_prints_the_path_of_the_jar_of_this_version():
    code, out, err = run("jar")
    assert (code, err) == (0, "")
    with zipfile.ZipFile(out.removesuffix("\n")) as jar:
        properties = jar.read("io/tamis/version.properties").decode()
        conf = jar.read("io/tamis/conf.json").decode()
        reasons = jar.read("io/tamis/reasons.json").decode()
    assert properties == f"version={tamis.__version__}\nwire={VERSION}\n"
    assert json.loads(conf) == tamis.conf.documents()
    assert [each["code"] for each in json.loads(reasons)] == list(REASONS)


def test_missing_jar_prints_one_sentence_with_exit_code_1(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tamis.jar, "__file__", str(tmp_path / "jar.py"))
    with pytest.raises(TamisError, match=r"no jar at .*: in a clone run `make setup`"):
        tamis.jar.path()
    monkeypatch.setattr(sys, "argv", ["tamis", "jar"])
    with pytest.raises(SystemExit) as exit_:
        tamis.cli.main()
    out, err = capsys.readouterr()
    assert (exit_.value.code, out) == (1, "")
    assert err.startswith("tamis: no jar at ")


def test_conf_without_a_terminal_prints_one_line_per_conf():
    code, out, _ = run("conf")
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()] == list(tamis.conf.registry())


def test_conf_as_json_is_the_registry():
    assert json.loads(run("conf", "--json")[1]) == tamis.conf.documents()


def test_wrong_usage_has_exit_code_2():
    code, out, err = run("no-such-command")
    assert (code, out) == (2, "")
    assert "no-such-command" in err
