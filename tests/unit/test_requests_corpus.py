"""Every file of the corpus: the valid are read, the invalid have one fault, where they say it is."""

import json

import pytest
import yaml
from jsonschema import Draft202012Validator

from congenial.errors import RequestError
from congenial.requests import json_text, yaml_text
from congenial.requests.nodes import Items, Text
from congenial.requests.reading import read_request
from congenial.requests.resolve import request_from_resolved, resolve
from congenial.requests.schema import json_schema
from support.requests.corpus import INVALID, VALID, expected

SCHEMA = Draft202012Validator(json_schema())


def named(paths):
    return pytest.mark.parametrize("path", paths, ids=[path.stem for path in paths])


def typed(path):
    """The file as an editor's YAML reads it, dates apart."""
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.yaml_implicit_resolvers = {
        first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith(("timestamp", "merge"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return yaml.load(path.read_text(encoding="utf-8"), loader)


def as_text(path):
    """The file as the product reads it: every scalar text, what is left out null."""

    def value(node):
        if isinstance(node, Text):
            return None if node.is_nothing else node.text
        if isinstance(node, Items):
            return [value(item) for item in node.items]
        return {key.text: value(item) for key, item in node.entries}

    parser = json_text if path.suffix == ".json" else yaml_text
    return value(parser.parse(path.read_text(encoding="utf-8"), []))


def test_the_corpus_is_as_large_as_it_should_be():
    assert len(VALID) >= 25
    assert len(INVALID) >= 60


@named(VALID)
def test_a_valid_file_is_read(path):
    read_request(path)


@named(VALID)
def test_a_valid_file_survives_being_resolved(path):
    request = read_request(path)
    resolved = json.loads(json.dumps(resolve(request)))
    assert request_from_resolved(resolved, request.table.folder) == request


@named(VALID)
def test_the_schema_accepts_a_valid_file_as_text_and_as_typed_values(path):
    SCHEMA.validate(as_text(path))
    SCHEMA.validate(json.loads(path.read_text("utf-8")) if path.suffix == ".json" else typed(path))


@named(INVALID)
def test_an_invalid_file_has_one_fault_and_it_is_named(path):
    want = expected(path)
    with pytest.raises(RequestError) as caught:
        read_request(path)
    (fault,) = caught.value.faults
    assert fault.where == want.where
    assert fault.line == want.line
    assert want.fragment in fault.what
    assert str(caught.value).count("\n") < 8


@named([path for path in INVALID if expected(path).of_form])
def test_the_schema_refuses_a_fault_of_form(path):
    assert not SCHEMA.is_valid(typed(path))
    assert not SCHEMA.is_valid(as_text(path))


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(json_schema())
