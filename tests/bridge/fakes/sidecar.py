"""A sidecar that misbehaves: `python sidecar.py MODE`, run in place of `python -m tamis.serve`.

The process, the handshake and the token are real; only the behavior that MODE names is not. Each
plan request adds a line to `requests` beside the script that started the process.
"""

from __future__ import annotations

import json
import os
import sys
import time

from tamis.serve.process import handler, lifecycle

MODE, LOG = sys.argv[1:3]
real_plan = handler.Handler.plan


def raising(self, request):
    raise ValueError("boom")


def leaving(self, request):
    raise SystemExit(3)


def hanging(self, request):
    time.sleep(120)


def dying(self, request):
    os.kill(os.getpid(), 9)


def garbage(self, request):
    return "\x00 not json {"


def nothing(self, request):
    return None


def array(self, request):
    return "[]"


def altered(**changes):
    """Return a handler whose answer would empty the table, but does not fit the question."""

    def plan(self, request):
        question = json.loads(request)
        answer = {
            "version": question["version"],
            "id": question["id"],
            "fingerprint": question["snapshot"]["fingerprint"],
            "files": question["snapshot"]["files"],
            "kept": {"form": "none"},
            "conjuncts": [{"pushdown": "exact"} for _ in question["conjuncts"]],
        }
        return json.dumps(answer | changes)

    return plan


PLANS = {
    "raising": raising,
    "leaving": leaving,
    "hanging": hanging,
    "dying": dying,
    "garbage": garbage,
    "nothing": nothing,
    "array": array,
    "other_fingerprint": altered(fingerprint="0" * 32),
    "other_question": altered(id="another"),
    "other_version": altered(version=99),
    "other_listing": altered(files=1),
    "too_few_conjuncts": altered(conjuncts=[]),
    "unknown_pushdown": altered(conjuncts=[{"pushdown": "maybe"}] * 2),
    "unknown_form": altered(kept={"form": "some"}),
    "short_bitmap": altered(kept={"form": "bitmap", "data": ""}),
    "wild_ranges": altered(kept={"form": "ranges", "data": [[0, 1000000]]}),
}

if MODE == "other_wire":
    lifecycle._ready = lambda port: {"port": port, "wire": 99, "tamis": "9.9.9"}
elif MODE == "noisy":
    os.write(1, b"Welcome to this shell\n")
elif MODE == "silent":
    time.sleep(120)
elif MODE == "ending":
    sys.exit("cannot start today")
else:

    def counted(self, request):
        with open(LOG, "a") as log:
            log.write("plan\n")
        return PLANS[MODE](self, request)

    handler.Handler.plan = counted
lifecycle.main()
