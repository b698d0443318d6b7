"""Compares the server's bill with our ledger: 1,000 calls with random faults while the client is killed again and again.

    python -m benchmarks.ledger [--calls N] [--kills N] [--seed N] [--out FILE.json]

A local server answers over HTTP, misbehaves at random (errors, resets before and inside the reply, silence, a login page, 429)
and bills every call for which its model ran. The client, a separate process with four threads, is killed and restarted
until every question is answered. The run fails if a reply was paid twice, if the ledger says less than the bill, or if the
bill is not between the calls that were settled and all calls.
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
    options.add_argument("--seconds", type=float, default=0.1, help="time of the model for a reply")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_with_kills(Path(folder), chosen.calls, chosen.kills, chosen.seed, chosen.seconds)
    rows = [(name.replace("_", " "), getattr(outcome, name)) for name in outcome.__dataclass_fields__]
    print_table(("", "count"), [*rows, ("turned down unheard", outcome.unheard)])
    print(
        f"Calls that reached the server, less those that it was heard to refuse: {outcome.bill_calls + outcome.unheard:,}. By "
        f"the ledger {outcome.settled:,} were settled, and {outcome.unsettled:,} more were perhaps billed."
    )
    write_results(chosen.out, outcome)
    if faults := outcome.faults_of_the_ledger():
        sys.exit("; ".join(faults))


if __name__ == "__main__":
    main()
