"""Text files as offices write them: delimiters, marks, encodings, quotes, line ends."""

import gzip

import pytest

from congenial.errors import RequestError, SourceError
from congenial.requests.model import AxisSpec, Unit
from congenial.tables.dialects import find
from support.tables import cells, faults_of, spec, table

ROWS = [["Straße", "n"], ["Köln, Süd", "12"], ['der "Ring"', "7"], ["Aix", "0"]]
EXPECTED = {("Köln, Süd",): 12, ('der "Ring"',): 7}


def written(delimiter=",", end="\n", rows=ROWS, last=True):
    def quoted(value):
        return '"' + value.replace('"', '""') + '"' if set(value) & {delimiter, '"', "\n"} else value

    return end.join(delimiter.join(map(quoted, row)) for row in rows) + (end if last else "")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_found_out(tmp_path, delimiter, end):
    assert cells(table(tmp_path, written(delimiter, end), ["Straße"])) == EXPECTED


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"]
)
@pytest.mark.parametrize("zipped", [False, True])
def test_encodings_are_found_out_by_their_mark_or_by_trying(tmp_path, encoding, zipped):
    content = written(";").encode(encoding)
    if encoding in ("utf-16-le", "utf-16-be"):
        content = "\ufeff".encode(encoding) + content
    content = gzip.compress(content) if zipped else content
    assert cells(table(tmp_path, content, ["Straße"])) == EXPECTED


def test_signs_that_latin_1_lacks_are_read_as_windows_writes_them(tmp_path):
    content = "money,n\n€ – ‘x’,1\n".encode("cp1252")
    assert cells(table(tmp_path, content, ["money"])) == {("€ – ‘x’",): 1}
    assert find(tmp_path / "source.csv").encoding == "cp1252"


def test_bytes_that_windows_1252_lacks_make_it_latin_1(tmp_path):
    tmp_path.joinpath("x.csv").write_bytes(b"a,n\n\xe9\x81,1\n")
    assert find(tmp_path / "x.csv").encoding == "latin-1"


def test_a_letter_cut_by_the_end_of_a_piece_is_still_utf_8(tmp_path):
    content = "a,n\n" + "x" * (2**20 - 5) + "é,1\n"
    tmp_path.joinpath("x.csv").write_text(content, encoding="utf-8")
    assert find(tmp_path / "x.csv").encoding == "utf-8"


def test_a_letter_cut_by_the_end_of_the_file_is_not_utf_8(tmp_path):
    tmp_path.joinpath("x.csv").write_bytes(b"a,n\nx,1\ny,\xc3")
    assert find(tmp_path / "x.csv").encoding == "cp1252"


def test_the_encoding_that_is_stated_is_believed(tmp_path):
    content = "a,n\nŁódź,3\n".encode("iso-8859-2")
    assert cells(table(tmp_path, content, ["a"], encoding="iso-8859-2")) == {("Łódź",): 3}
    content = "a,n\n東京,3\n".encode("shift_jis")
    assert cells(table(tmp_path, content, ["a"], encoding="shift_jis")) == {("東京",): 3}


def test_the_delimiter_that_is_stated_is_believed(tmp_path):
    content = "a:n\nx,y:3\n"
    assert cells(table(tmp_path, content, ["a"], delimiter=":")) == {("x,y",): 3}
    for name, sign in {"semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "comma": ","}.items():
        assert cells(table(tmp_path, f"a{sign}n\nx{sign}3\n", ["a"], delimiter=name)) == {("x",): 3}


@pytest.mark.parametrize(("key", "value"), [("encoding", "utf-9"), ("encoding", "hex"), ("delimiter", "::")])
def test_an_encoding_or_delimiter_that_is_none_is_a_fault_of_the_request(tmp_path, key, value):
    asked = spec(tmp_path, "a,n\nx,3\n", ["a"], **{key: value})
    [fault] = faults_of(RequestError, lambda: table(asked.folder, None, ["a"], **{key: value}))
    assert fault.where == f"table.{key}"
    assert value in fault.what


@pytest.mark.parametrize(
    "content",
    [
        b"a,n\r\nx,1\ny,2\r\n",
        b"a,n\nx,1\r\ny,2\r",
        b"\n\na,n\nx,1\n\ny,2\n\n\n",
        b"sep=,\na,n\nx,1\ny,2\n",
        b"\xef\xbb\xbfsep=,\r\na,n\r\nx,1\r\ny,2\r\n",
        b'"a","n"\n"x","1"\n"y","2"',
        b"a,n,\nx,1,\ny,2,\n",
    ],
    ids=["mixed", "all kinds", "blank lines", "sep", "mark and sep", "no last end", "comma at the end"],
)
def test_odd_ways_of_writing_the_same_rows_are_read(tmp_path, content):
    assert cells(table(tmp_path, content, ["a"])) == {("x",): 1, ("y",): 2}


def test_a_line_end_inside_quotes_belongs_to_the_label(tmp_path):
    content = b'a,n\r\n"x\ny",1\r\nz,2\r\n'
    assert cells(table(tmp_path, content, ["a"])) == {("x\ny",): 1, ("z",): 2}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_records_of_one_column_may_end_in_blank_lines(tmp_path, end):
    content = end.join(["a", "x", "y", "x", "", ""]) + end
    axis = AxisSpec("a", categories=("x", "y", "z"))
    assert cells(table(tmp_path, content, [axis], counts=None)) == {("x",): 2, ("y",): 1}


@pytest.mark.parametrize("content", ["a\nx\n\ny\n", 'a\nx\n""\ny\n', "a\nx\n\ny\n\n\n"])
def test_a_blank_record_of_one_column_is_not_skipped(tmp_path, content):
    axis = AxisSpec("a", categories=("x", "y"))
    [fault] = faults_of(SourceError, lambda: table(tmp_path, content, [axis], counts=None))
    assert fault.what == "row 2 of 'source.csv' has no label"


@pytest.mark.parametrize(
    "label",
    ["01001", "no", "No", "true", "1.0", "1e-2", "1:30", "2020-01-01", "NULL", "NA", "nan", " x ", "x\ty"],
)
def test_a_label_stays_what_was_typed(tmp_path, label):
    assert cells(table(tmp_path, f"a,n\n{label},5\n", ["a"])) == {(label,): 5}


def test_a_delimiter_that_only_stands_in_quotes_is_not_taken(tmp_path):
    content = '"a;b;c",n\n"x;y;z",1\n"u;v;w",2\n'
    assert cells(table(tmp_path, content, ["a;b;c"])) == {("x;y;z",): 1, ("u;v;w",): 2}


@pytest.mark.parametrize("name", ["d[1].csv", "what?.csv", "all*.csv", "it's.csv", 'a "b".csv', "ä ö.csv"])
def test_a_file_may_be_called_anything(tmp_path, name):
    folder = tmp_path / "f[o]l*d"
    folder.mkdir()
    folder.joinpath("d1.csv").write_text("a,n\nwrong,1\n")
    assert cells(table(folder, "a,n\nx,3\n", ["a"], name=name)) == {("x",): 3}
    assert cells(table(folder, "a,n\nx,3\n", ["a"], name=name, query="from source")) == {("x",): 3}


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,n\nx,1\ny,2\n", 2),
        (b"a,n\nx,1\ny,2", 2),
        (b"a,n\r\nx,1\r\ny,2\r\n", 2),
        (b"a,n\rx,1\ry,2", 2),
        (b"a,n\n", 0),
        (b"a,n\n\xe9,1\n", 1),
        (b'a,n\n"x",1\n', None),
        (b"a,n\nx,1\n\ny,2\n", None),
        (b"a,n\r\nx,1\r\n\r\ny,2", None),
        (b"a,n\nx,1\n\n", None),
        (b"\na,n\nx,1\n", None),
        (b"sep=,\na,n\nx,1\n", None),
        (b"a,n\r\nx,1\ny,2\n", None),
        ("a,n\nx,1\n".encode("utf-16"), None),
    ],
)
def test_the_number_of_rows_is_known_where_lines_tell(tmp_path, content, rows):
    tmp_path.joinpath("x.csv").write_bytes(content)
    assert find(tmp_path / "x.csv").rows == rows


@pytest.mark.parametrize("zipped", [False, True])
def test_lines_are_counted_across_pieces(tmp_path, zipped, monkeypatch):
    from congenial.tables import signs

    content = b"a,n\r\n" + b"".join(b"label %d,%d\r\n" % (at, at) for at in range(40))
    tmp_path.joinpath("x.csv").write_bytes(gzip.compress(content) if zipped else content)
    for piece in range(1, 30):
        monkeypatch.setattr(signs, "PIECE", piece)
        found = find(tmp_path / "x.csv")
        assert (found.rows, found.plain) == (40, True)


@pytest.mark.parametrize("counts", ["n", None])
@pytest.mark.parametrize("unit", [None, Unit(column="b", max_rows=9)])
def test_a_row_that_the_reader_loses_is_noticed(tmp_path, monkeypatch, counts, unit):
    from dataclasses import replace

    from congenial.tables import formats

    def loses_one(path, *more):
        found = find(path, *more)
        return replace(found, rows=found.rows + 1)

    monkeypatch.setattr(formats, "find", loses_one)
    axis = AxisSpec("a", categories=("x", "y"))
    unit = unit if counts is None else None
    [fault] = faults_of(
        SourceError, lambda: table(tmp_path, "a,b,n\nx,u,1\ny,v,2\n", [axis], counts=counts, unit=unit)
    )
    assert fault.what == "'source.csv' cannot be read as rows of 3 values"
