"""A look at a source: what its columns seem to be."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from congenial.errors import SourceError
from congenial.tables.sources import inspect_source, labels_of
from support.data import data_path
from support.tables import faults_of


def look(folder, content, name="x.csv", **more):
    folder.joinpath(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return inspect_source(folder / name, **more)


def test_columns_are_described(tmp_path):
    found = look(tmp_path, "code;sex;n\n01;f;3\n02;m;4\n01;m;\n".encode("utf-16"))
    assert (found.encoding, found.delimiter, found.rows) == ("utf-16", ";", 3)
    code, sex, n = found.columns
    assert (code.labels, code.missing, code.whole, code.width, code.zeros) == (2, False, True, 2, True)
    assert (sex.labels, sex.missing, sex.whole, sex.width, sex.zeros) == (2, False, False, 1, False)
    assert (n.labels, n.missing, n.whole) == (2, True, False)
    assert found.column("sex") is sex


def test_a_column_called_as_counts_are_is_the_counts(tmp_path):
    found = look(tmp_path, "sex,population,code\nf,3,1\nm,4,2\n")
    assert found.counts == "population"
    found = look(tmp_path, "sex,pop_2020,code\nf,3,1\nm,4,2\n")
    assert found.counts == "pop_2020"


def test_the_last_column_of_whole_numbers_is_the_counts_where_cells_are_given_once(tmp_path):
    assert look(tmp_path, "sex,age,x\nf,1,3\nf,2,9\nm,1,4\nm,2,7\n").counts == "x"
    assert look(tmp_path, "sex,age,x\nf,1,3\nf,1,9\nm,1,4\nm,2,7\n").counts is None


def test_codes_and_years_are_no_counts(tmp_path):
    assert look(tmp_path, "sex,zip\nf,01234\nm,12345\nx,12346\n").counts is None
    assert look(tmp_path, "sex,year\nf,2020\nm,2021\nx,2022\n").counts is None


def test_a_column_that_another_determines_is_left_out(tmp_path):
    rows = "".join(f"{'fm'[a % 2]},{a // 2},{'no' if a < 4 else 'yes'},{a}\n" for a in range(8))
    found = look(tmp_path, f"sex,age,voting,n\n{rows}")
    assert found.axes == ("sex", "age")
    assert found.left_out == (("voting", "age determines it"),)


def test_of_a_code_and_its_name_the_name_stays(tmp_path):
    rows = "".join(f"{'fm'[a % 2]},{a // 2},group {a // 2},{a}\n" for a in range(8))
    found = look(tmp_path, f"sex,age_code,age,n\n{rows}")
    assert found.axes == ("sex", "age")


def test_neighbours_where_every_label_has_its_parent_are_levels(tmp_path):
    rows = "".join(
        f"state {s},county {s + c if c < 2 else 10 * s + c},{sex},5\n"
        for s in range(9)
        for c in range(6)
        for sex in "fm"
    )
    found = look(tmp_path, f"state,county,sex,n\n{rows}")
    assert found.hierarchies == (("state", "county"),)
    assert found.axes == ("sex",)
    assert found.counts == "n"


def test_a_full_table_has_no_hierarchy(tmp_path):
    rows = "".join(f"a{a},b{b},{a + b}\n" for a in range(4) for b in range(12))
    assert look(tmp_path, f"a,b,n\n{rows}").hierarchies == ()


def test_a_column_of_names_of_units_is_no_axis_of_records(tmp_path):
    rows = "".join(f"p{a},{'fm'[a % 2]},2020\n" for a in range(50))
    found = look(tmp_path, f"person,sex,year\n{rows}")
    assert found.counts is None
    assert found.axes == ("sex",)
    assert dict(found.left_out) == {
        "person": "nearly every row has its own: it seems to name units",
        "year": "it has one label only",
    }


def test_a_parquet_file_has_neither_delimiter_nor_encoding(tmp_path):
    parquet.write_table(pa.table({"sex": ["f", "m"], "n": [1, 2]}), tmp_path / "x.parquet")
    found = inspect_source(tmp_path / "x.parquet")
    assert (found.kind, found.encoding, found.delimiter, found.counts) == ("parquet", None, None, "n")


def test_a_query_can_be_looked_at(tmp_path):
    found = look(
        tmp_path, "sex,n\nf,3\nf,4\n", query="select sex, sum(n::bigint) as n from source group by 1"
    )
    assert (found.rows, found.counts) == (1, "n")


def test_a_file_without_rows_is_an_error(tmp_path):
    [fault] = faults_of(SourceError, lambda: look(tmp_path, "sex,n\n"))
    assert fault.what == "'x.csv' has no rows"


def test_the_labels_that_occur_are_sorted_and_none_is_blank(tmp_path):
    tmp_path.joinpath("x.csv").write_text("state,county\nO,b\nI,a\nO,b\nO,a\nO,\n")
    assert labels_of("x.csv", ["state", "county"], folder=tmp_path) == (("I", "a"), ("O", "a"), ("O", "b"))
    [fault] = faults_of(SourceError, lambda: labels_of("x.csv", ["sate"], folder=tmp_path))
    assert "Did you mean 'state'?" in fault.hint


@pytest.mark.parametrize(
    ("name", "counts", "axes", "codes"),
    [
        ("us_block_groups_2010.csv.gz", "population", (), ["geoid"]),
        ("us_counties_2010.csv", "population", (), ["fips"]),
        ("county_sex_by_age18_2010_ca_fl_ky.csv", "count", ("sex", "age"), ["fips"]),
        ("tables/gm20_table1.csv", "count", ("sex", "age"), []),
        ("tables/ucbadmissions.csv", "count", ("Admit", "Gender", "Dept"), []),
        ("taxi_pickups_by_zone_2022_01.csv", "pickups_2022_01", ("LocationID",), []),
    ],
)
def test_real_tables_are_understood(name, counts, axes, codes):
    found = inspect_source(data_path(name))
    assert found.counts == counts
    assert found.axes == axes
    assert [code for code, _ in found.codes] == codes
    assert found.hierarchies == ()
