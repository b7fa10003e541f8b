"""The ledger: the durable record of what each dataset has spent of its budget.

In comes what a release loses and which tables that speaks about; out goes a `Receipt`, or a refusal.
It is one SQLite file. A charge is one transaction, durable before anything is drawn, and the entries
are a chain of hashes to which one only ever adds. Nothing here has seen a count.

file          what it knows
amounts.py    exact decimals, shown the safe way
chain.py      entries, their hashes, where a chain breaks
accounts.py   what the entries of a sound chain say: budgets, charges, what is left
opening.py    SQLite: the file, its guards, its locks, and what its errors mean
charging.py   `charge`: the one writer
reading.py    `read`, `to_json`, `explain`

What a hash chain without a secret can and cannot notice is said in chain.py.
"""

from congenial.privacy.ledger.accounts import Account, Charge, LedgerView
from congenial.privacy.ledger.charging import Receipt, charge
from congenial.privacy.ledger.reading import explain, read, to_json

__all__ = ["Account", "Charge", "LedgerView", "Receipt", "charge", "explain", "read", "to_json"]
