"""The examples of the pages run, and a planted one that fails is seen."""

import importlib.util
from pathlib import Path

import pytest

_path = Path(__file__).parents[2] / "scripts" / "check_docs.py"
_spec = importlib.util.spec_from_file_location("check_docs", _path)
check_docs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_docs)

GOOD = """
```python
x = 1
```
```python
assert x == 1
```
```csv file=counts.csv
sex,n
female,1
```
```console
$ cat counts.csv
female
$ exit 3  # exit 3
```
```console skip
$ false
```
```yaml
table: {source: counts.csv, counts: n, axes: {sex: {categories: [female]}}}
congenial: 1
measurements: [{query: cells, law: discrete-laplace, epsilon: 1}]
```
"""


def faults(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return check_docs.faults(page)


def test_examples_that_run_pass(tmp_path):
    assert faults(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("assert x == 1", "assert x == 2"),
        ("cat counts.csv", "cat another.csv"),
        ("# exit 3", "# exit 4"),
        ("console skip", "console"),
        ("law: discrete-laplace", "law: discrete-laplac"),
        ("congenial: 1", "congenial: 2"),
    ],
)
def test_an_example_that_fails_is_seen(tmp_path, was, now):
    assert len(faults(tmp_path, GOOD.replace(was, now))) == 1
