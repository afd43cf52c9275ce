"""Contract files for the sidecar: it reads only files written by the user of the driver."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import pytest

from tamis.declarations.contract_files import is_about, read, write
from tamis.errors import DeclarationError
from tamis.evaluation.udf.udf_contract import Contract
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.serve.scans.declarations import in_force


@pytest.fixture
def private(tmp_path: Path) -> Path:
    directory = tmp_path / "private"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def file(private: Path) -> Path:
    return write(Contract("f", monotone=abs), _pickled("f"), private, "f")


def _pickled(name: str) -> bytes:
    return pickle.dumps(Contract(name, monotone=abs, types=["INT"]))


def test_written_contract_is_read_back(file: Path, private: Path) -> None:
    contract = read(file, private)
    assert (contract.name, contract.types, contract.monotone) == ("f", ("integral",), abs)
    assert file.stat().st_mode & 0o777 == 0o600
    assert is_about(str(file), "f")
    assert not is_about(str(file), "g")
    assert [each.name for each in private.iterdir()] == [file.name]


def test_contracts_with_different_bodies_have_different_files(file: Path, private: Path) -> None:
    second = write(Contract("f", monotone=abs), _pickled("f") + b" ", private, "f")
    assert second != file


def test_untrusted_files_are_rejected(file: Path, private: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / file.name
    elsewhere.write_bytes(file.read_bytes())
    for path in (elsewhere, private / ".." / file.name):
        with pytest.raises(DeclarationError, match="not in the private directory"):
            read(path, private)
    content = file.read_bytes()
    file.write_bytes(content + b" ")
    with pytest.raises(DeclarationError, match="has changed"):
        read(file, private)
    file.unlink()
    with pytest.raises(DeclarationError, match="does not exist"):
        read(file, private)
    file.symlink_to(elsewhere)
    with pytest.raises(DeclarationError, match="not private"):
        read(file, private)
    file.unlink()
    file.write_bytes(content)
    file.chmod(0o644)
    with pytest.raises(DeclarationError, match="not private"):
        read(file, private)
    file.chmod(0o600)
    assert read(file, private).name == "f"
    private.chmod(0o755)
    with pytest.raises(DeclarationError, match="not private"):
        read(file, private)


def test_contract_of_another_python_is_rejected(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "version_info", (3, 99, 0))
        path = write(Contract("f", monotone=abs), _pickled("f"), private, "f")
    assert json.loads(path.read_bytes().partition(b"\n")[0])["python"] == "3.99"
    with pytest.raises(DeclarationError, match=r"written by Python 3\.99"):
        read(path, private)


def test_file_without_a_contract_is_rejected(private: Path) -> None:
    path = write(Contract("f", monotone=abs), pickle.dumps("no contract"), private, "f")
    with pytest.raises(DeclarationError, match="does not hold a contract"):
        read(path, private)


def test_entry_without_an_attribute_is_rejected(private: Path) -> None:
    with pytest.raises(DeclarationError, match="such as mymodule:contracts"):
        read(Path("mymodule"), private)


def test_contracts_apply_in_their_order(private: Path) -> None:
    paths = [
        write(contract, pickle.dumps(contract), private, contract.name)
        for contract in (
            Contract("f", monotone=abs, types=["INT"]),
            Contract("f", image=max, types=["INT"]),
            Contract("g", image=max, types=["INT"]),
        )
    ]
    watch = UdfGuard()
    contracts = in_force([str(path) for path in paths], private, watch)
    assert set(contracts) == {"f", "g"}
    assert [each.contract.monotone for each in contracts["f"]] == [abs, None]
    again = in_force([str(paths[1])], private, watch)
    assert again["f"] == contracts["f"][1:]  # including the results it computed before
    assert watch.warnings == {}


def test_failing_entries_are_warned_about_and_the_rest_apply(file: Path, private: Path) -> None:
    watch = UdfGuard()
    entries = [str(private / "gone"), str(file), "no_such_module:X", "nothing"]
    assert set(in_force(entries, private, watch)) == {"f"}
    assert len(watch.warnings) == 3


def test_contracts_from_modules(
    tmp_path: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_contracts.py").write_text(
        "import sys, tamis\n"
        "F = tamis.Contract('f', monotone=lambda x: x, types=['INT'])\n"
        "BOTH = [F, tamis.Contract('g', monotone=lambda x: x, types=['INT'])]\n"
        "REFUTED = tamis.Contract('h', monotone=abs, types=['INT'])\n"
    )
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(1)\n")
    watch = UdfGuard()
    assert set(in_force(["own_contracts:BOTH"], private, watch)) == {"f", "g"}
    assert watch.warnings == {}
    assert in_force(["own_contracts:REFUTED"], private, watch) == {}
    assert in_force(["exits:F"], private, watch) == {}
    assert in_force(["own_contracts:missing"], private, watch) == {}
    text = " ".join(watch.warnings.values())
    assert "h is declared never to decrease" in text
    assert "SystemExit" in text
    assert "missing" in text
    # The cause may have been fixed in the meantime.
    module = sys.modules["own_contracts"]
    monkeypatch.setattr(module, "missing", module.F, raising=False)
    assert set(in_force(["own_contracts:missing"], private, UdfGuard())) == {"f"}
