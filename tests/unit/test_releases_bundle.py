"""Bundles: saved, loaded, verified, and every change of a file seen."""

import contextlib
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from congenial.errors import ArgumentError, CongenialError, SourceError
from congenial.laws import DiscreteGaussian
from congenial.releases import manifest
from congenial.releases.bundle import FILES, is_bundle, load
from congenial.releases.public_table import PublicTable
from congenial.releases.verify import rebuilt, verify
from congenial.requests.builders import band, measure
from support.bundles import DOMAIN, RELEASED, a_release, a_request


def failed(folder) -> list[str]:
    return [check.name for check in verify(folder).checks if not check.holds]


def test_saved_and_loaded_a_release_is_the_same(tmp_path):
    release = a_release()
    again = load(release.save(tmp_path / "out"))
    assert np.array_equal(again.table.counts, RELEASED)
    assert [list(a.paths()) for a in again.table.domain.axes] == [list(a.paths()) for a in DOMAIN.axes]
    assert {k: v for k, v in again.manifest.items() if k not in ("files", "digest")} == release.manifest
    assert again.notices == ("No guarantee was computed.",)
    assert again.guarantee is None


def test_the_same_release_gives_the_same_bytes():
    assert a_release().files() == a_release().files()


def test_a_bundle_has_its_three_files_and_is_known_as_one(tmp_path):
    place = a_release().save(tmp_path / "out")
    assert sorted(p.name for p in place.iterdir()) == sorted(FILES)
    assert is_bundle(place)
    (place / "notes.txt").touch()
    assert not is_bundle(place)


def test_a_whole_bundle_verifies(tmp_path):
    found = verify(a_release().save(tmp_path / "out"))
    assert found.holds, str(found)
    assert [check.name for check in found.checks] == ["files", "table", "law", "facts", "bounds", "guarantee"]
    assert found.to_json()["holds"] is True


def test_the_law_is_rebuilt_from_the_manifest_alone(tmp_path):
    request = a_request()
    release = load(a_release(request=request).save(tmp_path / "out"))
    again, structure = rebuilt(release.manifest, release.table)
    assert again == request
    assert [m.law for m in structure.measured] == [m.law for m in request.measurements]
    assert [f.forms.name for f in structure.facts] == ["total", "{place: state}"]
    assert len(structure.limits) == 2
    assert structure.zeros.tolist() == [2, 5, 8]


def test_the_values_of_the_facts_are_the_manifests_only_counts():
    said = a_release().manifest
    assert said["invariants"][1] == {
        "name": "{place: state}", "of": ["place=Ohio", "place=Iowa"], "values": [27, 9]
    }  # fmt: skip
    loud = np.arange(1, 10, dtype=np.int64) * 10**12  # counts that no other number could be
    text = json.dumps(a_release(loud, a_request(invariants=[], bounds=[])).manifest)
    assert not any(str(count) in text for count in loud.tolist())


def test_a_fact_that_publishes_bands_names_no_value():
    said = a_release(request=a_request(invariants=[band("total", 10)])).manifest["invariants"]
    assert said == [{"name": "total", "of": ["total"], "bands": [[31, 40]]}]


def test_a_gaussian_law_is_rebuilt_with_the_scale_that_was_given(tmp_path):
    for law in (DiscreteGaussian(rho=0.1), DiscreteGaussian(sigma=2.5)):
        request = a_request(measurements=[measure("cells", law)])
        release = load(a_release(request=request).save(tmp_path / repr(law)))
        assert rebuilt(release.manifest, release.table)[1].measured[0].law == law
        assert verify(tmp_path / repr(law)).holds


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_changed_is_seen(tmp_path, name):
    place = a_release().save(tmp_path / "out")
    content = (place / name).read_bytes()
    (place / name).write_bytes(content.replace(b"Ohio", b"Utah", 1).replace(b"A table", b"A cable"))
    assert "files" in failed(place)


def resealed(place, change) -> None:
    """Change the manifest and give it a digest that fits."""
    said = json.loads((place / "manifest.json").read_text())
    change(said)
    said["digest"] = manifest.digest(said)
    (place / "manifest.json").write_bytes(manifest.to_bytes(said))


def test_a_fact_that_does_not_hold_is_seen_even_where_the_hashes_fit(tmp_path):
    place = a_release().save(tmp_path / "out")
    resealed(place, lambda said: said["invariants"][1]["values"].__setitem__(0, 28))
    assert failed(place) == ["facts"]


def test_a_law_that_is_not_the_requests_is_seen(tmp_path):
    place = a_release().save(tmp_path / "out")
    resealed(place, lambda said: said["laws"].pop())
    assert failed(place) == ["law"]


@pytest.mark.parametrize("cell", [0, 8])
def test_a_table_that_breaks_a_bound_is_seen(tmp_path, cell):
    broken = RELEASED.copy()
    broken[cell] = 200 if cell == 0 else 1
    assert failed(a_release(broken).save(tmp_path / "out")) == ["bounds"]


def test_csv_and_parquet_that_differ_are_seen(tmp_path):
    place = a_release().save(tmp_path / "out")
    text = (place / "table.csv").read_bytes().replace(b"Athens,18+,7", b"Athens,18+,8")
    (place / "table.csv").write_bytes(text)
    resealed(place, lambda said: said["files"].__setitem__("table.csv", manifest.fingerprint(text)))
    assert failed(place) == ["table"]


def test_a_table_with_a_row_missing_is_seen(tmp_path):
    place = a_release().save(tmp_path / "out")
    pq.write_table(pq.read_table(place / "table.parquet").slice(1), place / "table.parquet")
    assert failed(place) == ["files", "table"]
    with pytest.raises(SourceError):
        load(place)


SPOILED = {
    "nothing there": lambda place: [p.unlink() for p in place.iterdir()],
    "no table": lambda place: (place / "table.parquet").unlink(),
    "not JSON": lambda place: (place / "manifest.json").write_bytes(b"{\xff"),
    "another JSON": lambda place: (place / "manifest.json").write_text("[1]"),
    "a later format": lambda place: resealed(place, lambda said: said.update(manifest=2)),
    "a key missing": lambda place: resealed(place, lambda said: said.pop("laws")),
}


@pytest.mark.parametrize("how", SPOILED)
def test_what_is_no_bundle_is_refused_with_a_sentence(tmp_path, how):
    place = a_release().save(tmp_path / "out")
    SPOILED[how](place)
    for read in (load, verify):
        with pytest.raises(SourceError):
            read(place)


@pytest.mark.parametrize("name", ["missing", "file", "file/below"])
def test_a_place_that_is_no_folder_is_refused(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match="folder"):
        load(tmp_path / name)


@pytest.mark.parametrize("at", range(40))
def test_a_garbled_manifest_never_ends_in_another_error(tmp_path, at):
    place = a_release().save(tmp_path / "out")
    content = (place / "manifest.json").read_bytes()
    cut = len(content) * at // 40
    (place / "manifest.json").write_bytes(content[:cut] + b"#######" + content[cut + 7 :])
    with contextlib.suppress(CongenialError):
        assert not verify(place).holds


def test_a_public_table_answers_queries_and_cannot_be_changed():
    table = PublicTable(DOMAIN, RELEASED)
    states = table.query({"place": "state"})
    assert states.counts.tolist() == [27, 9]
    assert list(states.domain.axes[0].paths()) == [("Ohio",), ("Iowa",)]
    assert table.query("total").counts.tolist() == [36]
    assert table.array.shape == (3, 3)
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 1
    with pytest.raises(ArgumentError):
        PublicTable(DOMAIN, RELEASED[:-1])


def test_a_public_table_becomes_a_frame_with_labels_as_text():
    frame = PublicTable(DOMAIN, RELEASED).to_frame("pandas")
    assert list(frame.columns) == ["state", "county", "age", "count"]
    assert frame["count"].tolist() == RELEASED.tolist()
    assert frame["county"].tolist()[3] == "Lake"
