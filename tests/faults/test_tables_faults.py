"""What is wrong with a source, one fault a case: what is said, and that no count is.

Every count in these sources that a message could let slip contains the digits 90210.
"""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from congenial.errors import CongenialError, MachineError, RequestError, SourceError
from congenial.requests.model import AxisSpec, Unit
from congenial.tables.sources import declared_domain
from support.tables import faults_of, spec, table

SECRET = "90210"
SEX = AxisSpec("sex", categories=("female", "male"))

COUNTS = {
    "negative": ("-90210", "the count in row 2 of 'source.csv' is negative"),
    "negative with a decimal": ("-90210.5", "the count in row 2 of 'source.csv' is negative"),
    "negative as accountants write it": ("(90210)", "the count in row 2 of 'source.csv' is negative"),
    "fractional": ("90210.5", "the count in row 2 of 'source.csv' is not a whole number"),
    "fractional with a comma": ('"90210,5"', "the count in row 2 of 'source.csv' is not a whole number"),
    "with an exponent": ("90210e2", "the count in row 2 of 'source.csv' is not a whole number"),
    "missing": ("", "the count in row 2 of 'source.csv' is missing"),
    "blank": ("  ", "the count in row 2 of 'source.csv' is missing"),
    "quoted and empty": ('""', "the count in row 2 of 'source.csv' is missing"),
    "above 2^53": ("9021090210902109", "the count in row 2 of 'source.csv' is larger than 2^53"),
    "above 2^128": ("90210" * 20, "the count in row 2 of 'source.csv' is larger than 2^53"),
    "a float above 2^53": ("9.0210e+17", "the count in row 2 of 'source.csv' is larger than 2^53"),
    "with commas": ('"90,210"', "the count in row 2 of 'source.csv' is with marks between thousands"),
    "with points": ('"1.190.210"', "the count in row 2 of 'source.csv' is with marks between thousands"),
    "with spaces": ("1 090 210", "the count in row 2 of 'source.csv' is with marks between thousands"),
    "with quotes": ("90'210", "the count in row 2 of 'source.csv' is with marks between thousands"),
    "not a number": ("nan90210", "the count in row 2 of 'source.csv' is not a number"),
    "suppressed": ("<90210", "the count in row 2 of 'source.csv' is not a number"),
    "infinite": ("inf", "the count in row 2 of 'source.csv' is not a number"),
    "twice a minus": ("--90210", "the count in row 2 of 'source.csv' is not a number"),
}


@pytest.mark.parametrize(("entry", "what"), COUNTS.values(), ids=COUNTS)
def test_a_count_that_is_none_is_named_by_its_row(tmp_path, entry, what):
    content = f"sex,n\nfemale,1\nmale,{entry}\n"
    [fault] = faults_of(SourceError, lambda: table(tmp_path, content, [SEX]))
    assert fault.where == "column n"
    assert fault.what == what
    said = fault.what + fault.hint
    assert SECRET not in said
    assert "210" not in said
    if entry.strip('" '):
        assert entry.strip('"') not in said


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pa.array([1, -90210]), "negative"),
        (pa.array([1.0, 90210.5]), "not a whole number"),
        (pa.array([1.0, None]), "missing"),
        (pa.array([1.0, float("nan")]), "not a number"),
        (pa.array([1.0, 9.021e18]), "larger than 2^53"),
        (pa.array([1, 2**64 - 90210], pa.uint64()), "larger than 2^53"),
    ],
)
def test_a_typed_count_that_is_none_is_named_by_its_row(tmp_path, values, what):
    parquet.write_table(pa.table({"sex": ["female", "male"], "n": values}), tmp_path / "t.parquet")
    [fault] = faults_of(SourceError, lambda: table(tmp_path, None, [SEX], name="t.parquet"))
    assert fault.what == f"the count in row 2 of 't.parquet' is {what}"
    assert SECRET not in fault.what + fault.hint


def test_many_bad_counts_are_named_by_their_first_rows_and_by_kind(tmp_path):
    content = "a,n\n" + "".join(f"x{at},{-90210 if at % 2 else 90210.5}\n" for at in range(50))
    faults = faults_of(SourceError, lambda: table(tmp_path, content, ["a"]))
    assert [fault.what for fault in faults] == [
        "the count in rows 1, 3, 5 and more of 'source.csv' is not a whole number",
        "the count in rows 2, 4, 6 and more of 'source.csv' is negative",
    ]


def test_counts_that_add_up_to_more_than_can_be_held_are_refused(tmp_path):
    content = "a,n\n" + "".join(f"x{at},{2**52}\n" for at in range(5000))
    [fault] = faults_of(SourceError, lambda: table(tmp_path, content, ["a"]))
    assert fault.what == "the counts of 'source.csv' add up to more than 2^53"


FILES = {
    "an empty file": (b"", "'source.csv' is empty"),
    "blank lines": (b"\n\n \n", "'source.csv' is empty"),
    "a mark and nothing": (b"\xef\xbb\xbf", "'source.csv' is empty"),
    "an empty gzip file": (gzip.compress(b""), "'source.csv' is empty"),
    "a header alone": (b"sex,n\n", "'source.csv' has no rows"),
    "a header without end": (b"sex,n", "'source.csv' has no rows"),
    "a binary file": (b"sex,n\n\x00\x01\x0290210", "'source.csv' is a binary file of a kind not known here"),
    "a workbook": (b"PK\x03\x04 90210", "'source.csv' is a zip archive or an Excel workbook"),
    "half a gzip file": (gzip.compress(b"sex,n\nmale,90210\n")[:-9], "'source.csv' is a damaged gzip file"),
    "a gzip file with noise": (
        gzip.compress(b"sex,n\nmale,90210\n")[:12] + b"noise" * 9,
        "'source.csv' is a damaged gzip file",
    ),
    "a packed Parquet file": (gzip.compress(b"PAR1 and more"), "'source.csv' is packed with gzip"),
    "half a Parquet file": (b"PAR1\x00\x00 90210", "'source.csv' cannot be read as Parquet"),
    "half an Arrow file": (b"ARROW1\x00\x00 90210", "'source.csv' cannot be read as Arrow IPC"),
    "half a stream": (b"\xff\xff\xff\xff\x10\x00\x00\x00 9", "'source.csv' cannot be read as Arrow IPC"),
    "half a DuckDB file": (b"\0" * 8 + b"DUCK" + b"\x40" * 100, "the database 'source.csv' cannot be opened"),
    "not UTF-8 after all": (b"\xef\xbb\xbfsex,n\nm\xe9,90210\n", "'source.csv' is not written in UTF-8"),
    "a row too long": (b"sex,n\nfemale,1\nmale,90210,3\n", "row 2 of 'source.csv' (line 3) has 3 values"),
    "a row too short": (b"sex,n\nfemale,1\n\n90210\n", "row 2 of 'source.csv' (line 4) has 1 values"),
    "an open quote": (b'sex,n\nfemale,1\nmale,"90210\n', "row 2 of 'source.csv' cannot be read"),
    "a quote inside": (b'sex,n\nfemale,1\n"male"90210,"2"\n', "row 2 of 'source.csv' cannot be read"),
    "a Latin row too long": (b"sex,n\n\xe9,1\nmale,90210,3\n", "row 2 of 'source.csv' (line 3) has 3 values"),
    "mixed ends and a row too long": (b"sex,n\r\na,1\nmale,90210,3\n", "row 2 of 'source.csv' (line 3)"),
    "mixed ends and an open quote": (b'sex,n\r\na,1\nmale,"90210\n', "row 2 of 'source.csv' cannot be read"),
    "two columns of one name": (b"sex,n,n\nmale,90210,1\n", "columns 2 and 3 of 'source.csv' have the same"),
}


@pytest.mark.parametrize(("content", "what"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("query", [None, "from source"], ids=["read", "asked"])
def test_a_file_that_cannot_be_read_says_what_is_wrong_with_it(tmp_path, content, what, query):
    if query and "DUCK" in str(content):
        query = "from people"
    faults = faults_of(SourceError, lambda: table(tmp_path, content, [SEX], query=query))
    assert what.replace("'source.csv' has no rows", "has no rows" if query else what) in faults[0].what
    assert SECRET not in str(faults)


def test_a_parquet_file_damaged_in_the_middle_says_so(tmp_path):
    path = tmp_path / "t.parquet"
    data = {"sex": [f"label {at % 977}" for at in range(20_000)], "n": [90210] * 20_000}
    parquet.write_table(pa.table(data), path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[200:4000] = b"\xff" * 3800
    path.write_bytes(content)
    faults = faults_of(SourceError, lambda: table(tmp_path, None, ["sex"], name="t.parquet"))
    assert faults[0].what == "'t.parquet' cannot be read as Parquet"


def test_a_parquet_file_with_a_damaged_footer_says_so(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"sex": ["male"], "n": [90210]}), path)
    content = path.read_bytes()
    for at in range(20, 200, 20):
        path.write_bytes(content[:-at] + b"\xff" * (at - 8) + content[-8:])
        faults = faults_of(SourceError, lambda: table(tmp_path, None, [SEX], name="t.parquet"))
        assert faults[0].what == "'t.parquet' cannot be read as Parquet"


def test_an_arrow_file_cut_short_says_so(tmp_path):
    path = tmp_path / "t.arrow"
    data = pa.table({"sex": ["male"] * 1000, "n": [90210] * 1000})
    with ipc.new_file(path, data.schema) as file:
        file.write(data)
    path.write_bytes(path.read_bytes()[:-50])
    [fault] = faults_of(SourceError, lambda: table(tmp_path, None, ["sex"], name="t.arrow"))
    assert fault.what == "'t.arrow' cannot be read as Arrow IPC"


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_files_with_columns_of_one_name_are_refused(tmp_path, kind):
    data = pa.Table.from_arrays([pa.array(["male"]), pa.array([90210]), pa.array([1])], ["sex", "n", "n"])
    path = tmp_path / "t"
    if kind == "parquet":
        parquet.write_table(data, path)
    else:
        with ipc.new_file(path, data.schema) as file:
            file.write(data)
    [fault] = faults_of(SourceError, lambda: table(tmp_path, None, [SEX], name="t"))
    assert fault.what == "'t' has several columns called n"


def test_a_missing_file_names_the_one_that_is_there(tmp_path):
    tmp_path.joinpath("counties.csv").write_text("a,n\nx,1\n")
    [fault] = faults_of(SourceError, lambda: table(tmp_path, None, ["a"], name="countys.csv"))
    assert fault.what == "there is no file 'countys.csv'"
    assert "Did you mean 'counties.csv'?" in fault.hint
    [fault] = faults_of(SourceError, lambda: table(tmp_path, None, ["a"], name="no/where.csv"))
    assert "Nor is there a folder 'no'" in fault.hint


def test_a_folder_is_not_a_source(tmp_path):
    tmp_path.joinpath("data").mkdir()
    [fault] = faults_of(SourceError, lambda: table(tmp_path, None, ["a"], name="data"))
    assert fault.what == "'data' is a folder"


@pytest.mark.parametrize("error", [PermissionError(13, "no"), OSError(5, "i/o")])
def test_a_file_that_the_machine_does_not_give_is_the_machines_fault(tmp_path, monkeypatch, error):
    asked = spec(tmp_path, "sex,n\nmale,90210\n", [SEX])

    def refuse(*args, **more):
        raise error

    monkeypatch.setattr(Path, "open", refuse)
    [fault] = faults_of(MachineError, lambda: table(asked.folder, None, [SEX]))
    assert "the file cannot be read or written" in fault.what
    assert str(tmp_path) not in fault.what + fault.hint


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user who can be refused")
def test_a_file_without_the_right_to_read_is_the_machines_fault(tmp_path):
    asked = spec(tmp_path, "sex,n\nmale,90210\n", [SEX])
    tmp_path.joinpath("source.csv").chmod(0)
    faults_of(MachineError, lambda: table(asked.folder, None, [SEX]))


def test_no_room_for_temporary_files_is_the_machines_fault(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    [fault] = faults_of(MachineError, lambda: table(tmp_path, "sex,n\nmale,90210\n", [SEX]))
    assert fault.what == "no folder for temporary files can be made"


COLUMNS = {
    "an axis": ({"axes": ["sx"]}, "axis sx", "'source.csv' has no column 'sx'", "Did you mean 'sex'?"),
    "capitals": ({"axes": ["SEX"]}, "axis SEX", "'source.csv' has no column 'SEX'", "Did you mean 'sex'?"),
    "counts": (
        {"axes": ["sex"], "counts": "m"},
        "counts",
        "'source.csv' has no column 'm' to read counts from",
        "its columns are sex, n.",
    ),
    "counts as an axis": (
        {"axes": ["sex", "n"]},
        "counts",
        "column 'n' is read as counts and as axis 'n'",
        "different columns",
    ),
    "a level": (
        {"axes": [AxisSpec("place", levels=("state", "county"))]},
        "axis place",
        "'source.csv' has no column 'state'",
        "its columns are sex, n.",
    ),
}


@pytest.mark.parametrize(("asked", "where", "what", "hint"), COLUMNS.values(), ids=COLUMNS)
def test_a_missing_column_is_named_with_the_near_one(tmp_path, asked, where, what, hint):
    faults = faults_of(SourceError, lambda: table(tmp_path, "sex,n\nmale,90210\n", **asked))
    assert (faults[0].where, faults[0].what) == (where, what)
    assert hint in faults[0].hint


def test_a_file_without_a_header_does_not_show_its_first_row(tmp_path):
    [fault] = faults_of(
        SourceError, lambda: table(tmp_path, "male,90210\nfemale,90211\n", [SEX], counts="male")
    )
    assert SECRET not in fault.what + fault.hint
    assert "column 2 (its name is a number: does the first row hold names?)" in fault.hint


def test_all_missing_columns_are_named_at_once(tmp_path):
    faults = faults_of(SourceError, lambda: table(tmp_path, "x,y\n1,2\n", ["a", "b"], counts="c"))
    assert [fault.where for fault in faults] == ["axis a", "axis b", "counts"]


LABELS = {
    "undeclared": ("sex,n\nfemal,90210\n", "the label 'femal' is not declared", "Did you mean 'female'?"),
    "with a space": ("sex,n\nmale ,90210\n", "the label 'male ' is not declared", "Did you mean 'male'?"),
    "in capitals": ("sex,n\nMALE,90210\n", "the label 'MALE' is not declared", "Did you mean 'male'?"),
    "like a number": ("sex,n\n90210,5\n", "the labels in row 1 are not declared", "look like numbers"),
    "with a mark": ('sex,n\n"90,210",5\n', "the labels in row 1 are not declared", "look like numbers"),
    "missing": ("sex,n\nmale,1\n,90210\n", "row 2 of 'source.csv' has no label", "such as 'unknown'"),
    "blank": ("sex,n\nmale,1\n  ,90210\n", "row 2 of 'source.csv' has no label", "such as 'unknown'"),
}


@pytest.mark.parametrize(("content", "what", "hint"), LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("counts", ["n", None], ids=["counts", "records"])
def test_a_label_that_does_not_fit_is_named_unless_it_could_be_a_count(tmp_path, content, what, hint, counts):
    [fault] = faults_of(SourceError, lambda: table(tmp_path, content, [SEX], counts=counts))
    assert fault.where == "column sex"
    assert fault.what == what
    assert hint in fault.hint
    assert "210" not in fault.what + fault.hint


def test_of_many_undeclared_labels_the_first_are_named(tmp_path):
    content = "sex,n\n" + "".join(f"person {chr(97 + at)},1\n" for at in range(26))
    faults = faults_of(SourceError, lambda: table(tmp_path, content, [SEX]))
    assert len(faults) == 6
    assert faults[-1].what == "21 more labels are not declared"


def test_a_path_that_is_not_declared_is_named_whole(tmp_path):
    axis = AxisSpec("place", levels=("state", "county"), domain=Path("p.csv"))
    tmp_path.joinpath("p.csv").write_text("state,county\nOhio,Athens\nIowa,Adams\n")
    content = "state,county,n\nIowa,Athens,90210\n"
    [fault] = faults_of(SourceError, lambda: table(tmp_path, content, [axis]))
    assert (fault.where, fault.what) == ("columns state, county", "the label 'Iowa/Athens' is not declared")


def test_a_level_that_cannot_be_joined_is_named(tmp_path):
    axis = AxisSpec("place", levels=("state", "county"), domain=Path("p.csv"))
    tmp_path.joinpath("p.csv").write_text("state,county\nOhio,Adams\nIowa,Adams\n")
    [fault] = faults_of(SourceError, lambda: table(tmp_path, "county,n\nAdams,90210\n", [axis]))
    assert fault.what == "'Adams' stands under several parents, and the source does not say which"
    assert "needs the column 'state'" in fault.hint


def test_a_code_that_has_lost_its_zero_is_named_by_row(tmp_path):
    axis = AxisSpec("place", column="fips", prefixes=(("state", 2), ("county", 5)))
    [fault] = faults_of(SourceError, lambda: table(tmp_path, "fips,n\n19001,1\n1001,90210\n", [axis]))
    assert fault.what == "row 2 of 'source.csv' has a code with fewer than 5 characters"
    assert "leading zero" in fault.hint
    assert "1001" not in fault.what + fault.hint


def test_a_cell_that_is_given_twice_is_named_by_its_rows(tmp_path):
    content = "sex,age,n\nmale,x,1\nfemale,x,90210\nmale,y,90210\n"
    [fault] = faults_of(SourceError, lambda: table(tmp_path, content, [SEX]))
    assert fault.what == "rows 1 and 3 of 'source.csv' count the same cell"
    assert "Columns that no axis reads: age. Should one be an axis?" in fault.hint


def test_a_code_that_is_given_twice_is_a_repeated_cell_though_longer_than_its_prefix(tmp_path):
    axis = AxisSpec("place", column="code", prefixes=(("state", 2),))
    [fault] = faults_of(SourceError, lambda: table(tmp_path, "code,n\n01001,1\n01001,90210\n", [axis]))
    assert fault.what == "rows 1 and 2 of 'source.csv' count the same cell"


def test_faults_of_different_kinds_are_told_at_once(tmp_path):
    age = AxisSpec("age", categories=("young", "old"))
    content = "sex,age,n\nmal,old,90210\nmale,,3\nfemale,young,-90210\nmale,old,90210.5\n"
    faults = faults_of(SourceError, lambda: table(tmp_path, content, [SEX, age]))
    assert [fault.what for fault in faults] == [
        "the count in row 3 of 'source.csv' is negative",
        "the count in row 4 of 'source.csv' is not a whole number",
        "row 2 of 'source.csv' has no label",
        "the label 'mal' is not declared",
    ]


QUERIES = {
    "nothing": ("", RequestError, "the query is not one SELECT statement"),
    "no SQL": ("selec 1", RequestError, "the query is not valid SQL"),
    "two statements": ("select 1; select 2", RequestError, "the query is not one SELECT statement"),
    "a statement that writes": ("create table t as select 1", RequestError, "the query is not one SELECT"),
    "a setting": ("set threads = 1", RequestError, "the query is not one SELECT statement"),
    "a copy": ("copy (select 1) to 'out.csv'", RequestError, "the query is not one SELECT statement"),
    "an unknown table": ("from sauce", RequestError, "the query names a table, a column or a function"),
    "an unknown column": ("select x90210 from source", RequestError, "the query names a table, a column"),
    "text added up": ("select sum(n) as n from source", RequestError, "the query names a table, a column"),
    "another file": ("from read_csv('other.csv')", RequestError, "the query names a table, a column"),
    "another file by name": ("from 'other.csv'", RequestError, "the query names a table, a column"),
    "a parameter": ("select sex, ? as n from source", RequestError, "the query names a table, a column"),
    "a cast that fails": (
        "select sex, cast(sex as bigint) as n from source",
        SourceError,
        "the query fails on a value of the source",
    ),
    "two columns of one name": ("select sex, n, n from source", SourceError, "has several columns called n"),
    "no rows": ("from source where false", SourceError, "the result of `query` over 'source.csv' has"),
}


@pytest.mark.parametrize(("query", "kind", "what"), QUERIES.values(), ids=QUERIES)
def test_a_query_that_cannot_be_run_says_so_in_our_words(tmp_path, query, kind, what):
    tmp_path.joinpath("other.csv").write_text("sex,n\nmale,90210\n")
    content = "sex,n\nmale,90210\n"
    faults = faults_of(kind, lambda: table(tmp_path, content, [SEX], query=query))
    assert what in faults[0].what
    assert SECRET not in str(faults)
    assert not tmp_path.joinpath("out.csv").exists()


def test_a_query_cannot_see_python_variables(tmp_path):
    frame = pa.table({"sex": ["male"], "n": [1]})
    faults_of(RequestError, lambda: table(tmp_path, "sex,n\nmale,90210\n", [SEX], query="from frame"))
    assert frame.num_rows == 1


def test_a_query_over_columns_that_sql_cannot_tell_apart_is_refused(tmp_path):
    content = "Sex,sex,n\nmale,male,90210\n"
    [fault] = faults_of(SourceError, lambda: table(tmp_path, content, [SEX], query="from source"))
    assert fault.what == "SQL cannot tell apart the columns Sex, sex"


def test_a_ragged_file_is_the_files_fault_also_under_a_query(tmp_path):
    content = "sex,n\nfemale,1\nmale,90210,3\n"
    query = "select sex, cast(n as bigint) as n from source"
    [fault] = faults_of(SourceError, lambda: table(tmp_path, content, [SEX], query=query))
    assert fault.what == "row 2 of 'source.csv' (line 3) has 3 values, the header has 2"


def test_a_database_without_a_query_is_refused(tmp_path):
    duckdb.connect(str(tmp_path / "d.duckdb")).close()
    [fault] = faults_of(SourceError, lambda: table(tmp_path, None, [SEX], name="d.duckdb"))
    assert "no `query` says which rows are meant" in fault.what


def test_a_database_that_is_open_elsewhere_says_so(tmp_path):
    path = tmp_path / "d.duckdb"
    script = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        [fault] = faults_of(
            SourceError, lambda: table(tmp_path, None, [SEX], name="d.duckdb", query="from t")
        )
        other.communicate("")
    assert fault.what == "the database 'd.duckdb' cannot be opened"


@pytest.mark.parametrize("url", ["postgresql://me:90210@127.0.0.1:1/db", "mysql://me:90210@127.0.0.1:1/db"])
def test_a_database_behind_a_url_that_cannot_be_reached_keeps_its_password(tmp_path, url):
    from congenial.requests.model import TableSpec
    from congenial.tables.table import Table

    asked = TableSpec(url, (SEX,), counts="n", query="from t", folder=tmp_path)
    with pytest.raises(CongenialError) as caught:
        Table.from_source(asked)
    assert SECRET not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://example.org/counts.csv", "s3://x/y.parquet", "oracle://x"])
def test_what_lies_on_the_web_is_not_fetched(tmp_path, url):
    from congenial.requests.model import TableSpec
    from congenial.tables.table import Table

    [fault] = faults_of(SourceError, lambda: Table.from_source(TableSpec(url, (SEX,), counts="n")))
    assert "is not a source that is read here" in fault.what


AXES = {
    "none": ([], "the table has no axes"),
    "a word of the grammar": (["total"], "no axis may be called 'total'"),
    "the same twice": (["sex", "sex"], "two axes are called 'sex'"),
    "the output's column": (["count"], "the name 'count' is taken"),
    "levels of one name": (
        [AxisSpec("a", levels=("x", "y")), AxisSpec("b", levels=("y", "z"))],
        "the name 'y' is taken",
    ),
    "a level called as another axis": (["x", AxisSpec("b", levels=("x", "z"))], "the name 'x' is taken"),
    "the same level twice": ([AxisSpec("a", levels=("x", "x"))], "the names of levels must differ"),
    "levels and prefixes": (
        [AxisSpec("a", levels=("x", "y"), prefixes=(("z", 2),))],
        "an axis has `levels` or `prefixes`, not both",
    ),
    "prefixes that shrink": ([AxisSpec("a", prefixes=(("x", 5), ("y", 2)))], "the lengths 5, 2 do not grow"),
    "prefixes of nothing": ([AxisSpec("a", prefixes=(("x", 0),))], "the lengths 0 do not grow"),
    "no categories": ([AxisSpec("a", categories=())], "the list of categories is empty"),
    "a category twice": ([AxisSpec("a", categories=("x", "y", "x"))], "the category 'x' stands twice"),
    "a blank category": ([AxisSpec("a", categories=("x", " "))], "a category has no label"),
    "categories of a hierarchy": ([AxisSpec("a", levels=("s", "c"), categories=("x",))], "'x' is not a leaf"),
    "labels twice": (
        [AxisSpec("a", categories=("x",), domain=Path("d.csv"))],
        "labels are declared twice, by `categories` and by `domain`",
    ),
    "a short code": (
        [AxisSpec("a", prefixes=(("x", 5),), categories=("0100",))],
        "the code '0100' has only 4",
    ),
    "too many cells": (
        [AxisSpec(f"a{at}", categories=tuple("abcdefgh")) for at in range(11)],
        "the table would have 8,589,934,592 cells",
    ),
}


@pytest.mark.parametrize(("axes", "what"), AXES.values(), ids=AXES)
def test_axes_that_are_not_sound_are_a_fault_of_the_request(tmp_path, axes, what):
    faults = faults_of(RequestError, lambda: declared_domain(spec(tmp_path, None, axes)))
    assert what in faults[0].what
    assert faults[0].where.startswith("table.axes")


def test_axes_are_looked_at_before_the_source_is_opened(tmp_path):
    faults = faults_of(RequestError, lambda: table(tmp_path, None, ["total"], name="no such file"))
    assert faults[0].where == "table.axes.total"


DOMAINS = {
    "missing": (None, "there is no file 'd.csv'"),
    "empty": ("", "'d.csv' is empty"),
    "a header alone": ("state,county\n", "'d.csv' has no rows"),
    "a level missing": ("state,cnty\nOhio,Athens\n", "'d.csv' has no column 'county'"),
    "a leaf twice": (
        "state,county\nOhio,Athens\nOhio,Adams\nOhio,Athens\n",
        "rows 1 and 3 of the domain file are the same leaf, 'Ohio/Athens'",
    ),
    "a label missing": ("state,county\nOhio,\n", "row 1 of the domain file has no label"),
    "ragged": ("state,county\nOhio\n", "row 1 of 'd.csv' (line 2) has 1 values, the header has 2"),
}


@pytest.mark.parametrize(("content", "what"), DOMAINS.values(), ids=DOMAINS)
def test_a_domain_file_that_is_not_sound_is_a_fault_of_the_request(tmp_path, content, what):
    if content is not None:
        tmp_path.joinpath("d.csv").write_text(content)
    axis = AxisSpec("place", levels=("state", "county"), domain=Path("d.csv"))
    [fault] = faults_of(RequestError, lambda: declared_domain(spec(tmp_path, None, [axis])))
    assert (fault.where, fault.what) == ("table.axes.place.domain", what)


def test_a_domain_file_of_codes_that_are_too_short_is_refused(tmp_path):
    tmp_path.joinpath("d.csv").write_text("code\n01001\n1003\n")
    axis = AxisSpec("place", prefixes=(("state", 2), ("county", 5)), domain=Path("d.csv"))
    [fault] = faults_of(RequestError, lambda: declared_domain(spec(tmp_path, None, [axis])))
    assert fault.what == "the code '1003' has only 4 characters"


def test_a_unit_column_beside_counts_is_a_fault_of_the_request(tmp_path):
    unit = Unit(column="id")
    [fault] = faults_of(RequestError, lambda: table(tmp_path, "id,sex,n\n1,male,3\n", [SEX], unit=unit))
    assert fault.where == "unit.column"


def test_too_little_memory_is_the_machines_fault(tmp_path):
    from congenial.tables.connections import quiet

    def call():
        with quiet(lambda: SourceError("never")), duckdb.connect(config={"memory_limit": "10MB"}) as con:
            con.execute("SET temp_directory = ''")
            con.execute("CREATE TABLE t AS SELECT range || 'some longer text' AS a FROM range(5000000)")

    [fault] = faults_of(MachineError, call)
    assert fault.what == "memory ran out"


@pytest.mark.parametrize(
    "interrupted", [RuntimeError("Query interrupted"), duckdb.InterruptException("90210")]
)
def test_an_interrupt_while_the_source_is_read_is_an_interrupt(interrupted):
    from congenial.tables.connections import quiet

    with pytest.raises(KeyboardInterrupt), quiet(lambda: SourceError("never")):
        raise interrupted
