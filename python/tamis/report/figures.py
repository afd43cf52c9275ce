"""The sentences and numbers of an explanation, which its text and its HTML share.

Each number is shown with its total.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "Note",
    "answered",
    "conjunct_notes",
    "goal_note",
    "known_when_run",
    "left_to_spark",
    "nothing",
    "part_of_whole",
    "read_figures",
    "remarks",
    "scan_figures",
    "timing",
]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence of an explanation.

    Attributes:
        text: The sentence.
        fix: What to do about it; None if nothing can be done.
        kind: The class of conjuncts (exact, inexact, unsupported) in whose color the sentence is
            shown; empty: no color.
    """

    text: str
    fix: str | None = None
    kind: str = ""


def nothing(document: dict[str, Any]) -> str:
    """Return the sentence for a document without scans; empty if there are some."""
    if document["scans"] or document.get("answered"):
        return ""
    return document.get("nothing") or "tamis does not plan any scan of this query"


def answered(goal: dict[str, Any]) -> str:
    """Return what became of a goal that statistics answered."""
    return (
        f"{goal['goal']} answered from the statistics of {goal['files']:,} files; "
        "none of them is read"
    )


def left_to_spark(relation: dict[str, Any]) -> tuple[str, list[str]]:
    """Return why a relation was left to Spark, and what to do about it."""
    fixes = [each["fix"] for each in relation.get("reasons", []) if each["fix"]]
    return f"left to Spark, because {relation['reason']}", fixes


def remarks(scan: dict[str, Any]) -> list[Note]:
    """Return what is unusual about how the scan reads its files."""
    fix = (scan.get("fallback_reason") or {}).get("fix")
    observed = bool(scan.get("observed"))
    notes = []
    if scan["fallback"] and not observed:
        notes.append(Note(f"read as in plain Spark: {scan['fallback']}", fix, "unsupported"))
    listed = scan.get("files_listed")
    if listed is not None:
        left_out = part_of_whole(scan["files_total"] - listed, scan["files_total"], "files")
        notes.append(Note(f"Delta itself leaves out {left_out}", None, "exact"))
    unopened = scan.get("files_in_unopened_manifests")
    if unopened is not None:
        left_out = part_of_whole(unopened, scan["files_total"], "files")
        text = f"manifests with {left_out} are not opened: no partition of these can match"
        notes.append(Note(text, None, "exact"))
    remembered = [
        f"{count:,} {what}"
        for what in ("files", "row groups")
        if (count := scan.get(f"remembered_{what.replace(' ', '_')}"))
    ]
    if remembered:
        where = " and ".join(remembered)
        text = f"an earlier scan found no row that passes in {where}, left out here"
        notes.append(Note(text, None, "exact"))
    read = read_figures(scan)
    if read:
        notes.append(Note(read, fix, "unsupported" if observed else "exact"))
    return notes


def conjunct_notes(conjunct: dict[str, Any], scan: dict[str, Any]) -> list[Note]:
    """Return what a conjunct prunes, and why it is not exact."""
    alone, more = _share(conjunct, scan, "pruned"), _share(conjunct, scan, "added")
    notes = []
    if alone:
        notes.append(Note(f"prunes {alone} on its own{pruned_by(conjunct)}"))
    if more and more != alone:
        notes.append(Note(f"prunes {more} beyond the conjuncts before it"))
    if conjunct.get("remembered"):
        notes.append(Note("an earlier scan found it true for every row"))
    reason = conjunct["reason"]
    if reason and (scan.get("observed") or not scan["fallback"]):
        notes.append(Note(reason["text"], reason["fix"]))
    return notes


def goal_note(goal: dict[str, Any]) -> Note | None:
    """Return why a goal saved no files; None if it saved some."""
    reason = goal["reason"]
    return Note(f"no effect: {reason['text']}", reason["fix"]) if reason else None


def part_of_whole(part: int | None, whole: int | None, what: str) -> str:
    """Return a part and its whole as text; empty if the part is not known.

    >>> part_of_whole(3, 1200, "files"), part_of_whole(3, None, "rows")
    ('3 of 1,200 files', '3 rows')
    >>> part_of_whole(None, 7, "rows")
    ''
    """
    if part is None:
        return ""
    return f"{part:,} {what}" if whole is None else f"{part:,} of {whole:,} {what}"


def scan_figures(scan: dict[str, Any]) -> str:
    """Return what tamis keeps of the table; in the mode `observe`, what it would keep."""
    prefix = "would keep " if scan.get("observed") else ""
    return prefix + _kept(scan)


def read_figures(scan: dict[str, Any]) -> str:
    """Return what the scan reads; empty if that is what tamis keeps.

    >>> scan = {"files_read": 10, "files_kept": 2, "files_total": 10, "observed": True}
    >>> read_figures(scan)
    'observed, not applied: 10 of 10 files are read'
    >>> read_figures(scan | {"observed": False, "files_read": 1, "runtime": [{"prunes": True}]})
    'the query has run: 1 of 10 files were read after run-time filters'
    """
    files = part_of_whole(scan.get("files_read"), scan["files_total"], "files")
    if scan.get("observed"):
        return f"observed, not applied: {files} are read"
    if files and any(each["prunes"] for each in scan.get("runtime") or []):
        return f"the query has run: {files} were read after run-time filters"
    return ""


def known_when_run(condition: dict[str, Any]) -> str:
    """Return what a condition of `runtime` does."""
    if condition["prunes"]:
        return "its value is known only when the query runs; it then rules out files"
    return (
        "its value is known only when the query runs; it rules out no files, and Spark applies it "
        "to the rows"
    )


def _kept(scan: dict[str, Any]) -> str:
    parts = [part_of_whole(scan["files_kept"], scan["files_total"], "files")]
    groups = scan.get("row_groups_kept"), scan.get("row_groups_total")
    if groups[0] is not None:
        parts.append(part_of_whole(*groups, "row groups"))
    parts.append(part_of_whole(scan["bytes_kept"], scan["bytes_total"], "bytes"))
    parts.append(part_of_whole(scan["rows_kept"], scan["rows_total"], "rows"))
    return ", ".join(filter(None, parts))


_KINDS = {
    "bounds": "bounds",
    "expression": "recorded bounds of the expression",
    "values": "recorded values",
    "bloom": "Bloom filters",
    "evaluated": "evaluation of the values of files",
}


def pruned_by(conjunct: dict[str, Any]) -> str:
    """Return the kinds of statistics that rule out files; empty if only bounds do.

    >>> pruned_by({"pruned_by": ["bounds", "bloom"]}), pruned_by({"pruned_by": ["bounds"]})
    (', by bounds and Bloom filters', '')
    """
    kinds = conjunct.get("pruned_by") or []
    if set(kinds) <= {"bounds"}:
        return ""
    return ", by " + " and ".join(_KINDS.get(kind, kind) for kind in kinds)


def _share(conjunct: dict[str, Any], scan: dict[str, Any], which: str) -> str:
    """Return what a conjunct prunes, on its own or added; empty if that was not counted."""
    files = conjunct.get(f"{which}_files")
    if files is None:
        return ""
    parts = [part_of_whole(files, scan["files_total"], "files")]
    if files:
        for what in ("bytes", "rows"):
            parts.append(
                part_of_whole(conjunct.get(f"{which}_{what}"), scan[f"{what}_total"], what)
            )
    return ", ".join(filter(None, parts))


def timing(scan: dict[str, Any]) -> str:
    """Return the planning time and its measured parts.

    >>> timing(
    ...     {
    ...         "planning_ms": 3.0,
    ...         "timing": {
    ...             "listing_ms": 1.0,
    ...             "question_ms": 1.5,
    ...             "planner_ms": None,
    ...             "opening_ms": None,
    ...         },
    ...     }
    ... )
    'planned in 3.0 ms: listing 1.0, request to the planner 1.5 (cached answer)'
    """
    text = f"planned in {scan['planning_ms']:.1f} ms"
    parts = scan.get("timing") or {}
    if parts.get("listing_ms") is None:
        return text
    text += f": listing {parts['listing_ms']:.1f}"
    text += f", request to the planner {parts['question_ms']:.1f}"
    if parts["planner_ms"] is None:
        return text + " (cached answer)"
    return (
        f"{text} (planner {parts['planner_ms']:.1f}, including {parts['opening_ms']:.1f} "
        "to open the listing and the index)"
    )
