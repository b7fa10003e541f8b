"""Real tables, where they are present: known sums come out, whatever the way in."""

import pytest

from congenial.requests.model import AxisSpec, TableSpec, Unit
from congenial.tables.table import Table
from support.data import data_path
from support.tables import cells

GEOID = (("state", 2), ("county", 5), ("tract", 11), ("block_group", 12), ("block", 15))


def read(name, axes, counts, **more):
    path = data_path(name)
    return Table.from_source(TableSpec(path.name, tuple(axes), counts=counts, folder=path.parent, **more))


def test_the_block_groups_of_a_nation_are_a_tree_of_four_levels():
    place = AxisSpec("place", column="geoid", prefixes=GEOID[:4])
    found = read("us_block_groups_2010.csv.gz", [place], "population")
    assert repr(found) == (
        "Table(place: state 51 > county 3,143 > tract 73,057 > block_group 217,740; "
        "217,740 cells, counts confidential)"
    )
    assert found.query("total").counts_confidential.tolist() == [308_745_538]
    assert (found.counts_confidential == 0).sum() == 876
    counties = read(
        "us_counties_2010.csv", [AxisSpec("place", column="fips", prefixes=GEOID[:2])], "population"
    )
    assert found.query({"place": "county"}).to_frame().equals(counties.to_frame())


def test_counties_of_one_name_in_many_states_are_told_apart():
    found = read("us_counties_2010.csv", [AxisSpec("place", levels=("state", "county"))], "population")
    assert found.shape == (3143,)
    illinois = found.query({"place": {"illinois": ["Illinois"]}})
    assert illinois.counts_confidential.tolist() == [12_830_632]


def test_a_million_persons_tabulate_to_the_blocks_they_were_made_of():
    path = data_path("ri_blocks_2010.csv")
    codes = AxisSpec("place", column="geoid", prefixes=GEOID, domain=path)
    blocks = read("ri_blocks_2010.csv", [codes], "pop")
    persons = read("ri_persons_2010_expanded.csv.gz", [codes], None)
    assert blocks.query("total").counts_confidential.tolist() == [1_052_567]
    assert (persons.counts_confidential == blocks.counts_confidential).all()
    assert persons.notices == ()


def test_a_table_by_three_axes_keeps_its_sums():
    axes = [AxisSpec("county", column="fips"), AxisSpec("sex"), AxisSpec("age")]
    found = read("county_sex_by_age18_2010_ca_fl_ky.csv", axes, "count")
    assert found.shape == (245, 2, 18)
    assert found.counts_confidential.sum() == 37_253_956 + 18_801_310 + 4_339_367


def test_the_published_table_of_gong_and_meng_has_its_margins():
    ages = "0-5 6-10 11-15 16-17 18-19 20 21 22-24 25-29 30-34 35-39 40-44 45-49 50-54 55-59 60-61 62-64"
    ages = (*ages.split(), "65-66", "67-69", "70-74", "75-79", "80-84", "85+")
    axes = [AxisSpec("sex", categories=("female", "male")), AxisSpec("age", categories=ages)]
    found = read("tables/gm20_table1.csv", axes, "count")
    assert cells(found.query("sex")) == {("female",): 130, ("male",): 126}
    assert found.query({"age": {"voting": ages[4:]}}).counts_confidential.tolist() == [213]


@pytest.mark.long
def test_units_of_a_million_rows_are_checked():
    path = data_path("ri_persons_2010_expanded.csv.gz")
    axes = (AxisSpec("age", column="age18plus", categories=("0", "1")),)
    asked = TableSpec(path.name, axes, folder=path.parent)
    found = Table.from_source(asked, Unit("block", max_rows=1, column="geoid", over="drop"))
    assert found.counts_confidential.sum() == 25_181 - 7_537
