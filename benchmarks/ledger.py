"""The server's bill against our ledger: 1,000 calls with random faults while the client is killed, again and again.

    python -m benchmarks.ledger [--calls N] [--kills N] [--seed N] [--out FILE.json]

A local server answers over HTTP, misbehaves at random (errors, resets before and inside the reply, silence, a login page, 429)
and bills every call for which its model ran. The client, a process of its own with four threads, is killed and started again
until every question is answered. The run fails if a reply was paid twice, or if the ledger says less than the bill.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.common import ROOT, parser, print_table, write_results

sys.path.insert(0, str(ROOT / "tests"))


def main() -> None:
    from fakeai.ledger_run import run_with_kills

    options = parser(__doc__)
    options.add_argument("--calls", type=int, default=1000)
    options.add_argument("--kills", type=int, default=40)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=0.1, help="what the model takes for a reply")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_with_kills(Path(folder), given.calls, given.kills, given.seed, given.seconds)
    rows = [(name.replace("_", " "), getattr(outcome, name)) for name in outcome.__dataclass_fields__]
    print_table(("", "count"), [*rows, ("entered, not billed", outcome.entered_only)])
    write_results(given.out, outcome)
    faults = {
        "a reply was paid twice": outcome.paid_twice > 0,
        "the ledger has fewer calls than the bill": outcome.ledger_calls < outcome.bill_calls,
        "the ledger has fewer tokens than the bill": outcome.ledger_tokens < outcome.bill_tokens,
        "settled calls differ from what the server charged for them": outcome.settled_tokens
        != outcome.settled_bill_tokens,
    }
    for what, happened in faults.items():
        if happened:
            sys.exit(what)


if __name__ == "__main__":
    main()
