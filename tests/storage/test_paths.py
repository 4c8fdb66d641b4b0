"""Does a path lead where it should, and nowhere else?"""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.errors import EskerError, InvalidRequest, InvalidTable, Unsupported
from esker.storage import join_url, relocated, resolve, split_url
from esker.storage.paths import checked, url_parts

FILE, S3 = "file:///lake/my table", "s3://bucket/table"


@pytest.mark.parametrize(
    "root, uri, url",
    [
        (FILE, "a.parquet", "file:///lake/my table/a.parquet"),
        (FILE, "day=1/a%20b.parquet", "file:///lake/my table/day=1/a b.parquet"),
        (FILE, "t=12%253A30/a", "file:///lake/my table/t=12%3A30/a"),
        (FILE, "a%2Fb", "file:///lake/my table/a/b"),
        (FILE, "%252e%252e/a", "file:///lake/my table/%2e%2e/a"),
        (FILE, "a+b", "file:///lake/my table/a+b"),
        (FILE, "caf%C3%A9/%F0%9F%98%80", "file:///lake/my table/café/😀"),
        (FILE, "100%", "file:///lake/my table/100%"),
        (FILE, "%zz%2", "file:///lake/my table/%zz%2"),
        (FILE, "a%FFb", "file:///lake/my table/a%FFb"),
        (FILE, "t=12:30/a", "file:///lake/my table/t=12:30/a"),
        (FILE, "a:b", "file:///lake/my table/a:b"),
        (FILE, "a#b?c", "file:///lake/my table/a#b?c"),
        (FILE, "a%5Cb", "file:///lake/my table/a\\b"),
        (FILE, "...", "file:///lake/my table/..."),
        (FILE, "/other/a%20b", "file:///other/a b"),
        (FILE, "file:/other/a%20b", "file:///other/a b"),
        (FILE, "file:///other/a%20b", "file:///other/a b"),
        (FILE, "file://localhost/other//a%20b", "file:///other/a b"),
        (FILE, "FILE:/other/a", "file:///other/a"),
        (FILE, "s3://b%20/x%20y", "s3://b%20/x y"),
        (S3, "/other/a", "s3://bucket/other/a"),
        (S3, "file:/x", "file:///x"),
        (S3, "abfss://c@acc.dfs.core.windows.net/x%20y", "abfss://c@acc.dfs.core.windows.net/x y"),
        ("file://", "a", "file:///a"),
        ("memory://name", "/a", "memory://name/a"),
    ],
)
def test_a_uri_of_the_metadata_resolves_to_a_literal_url(root: str, uri: str, url: str) -> None:
    assert resolve(root, uri) == url


@pytest.mark.parametrize(
    "uri",
    [
        *("", ".", "..", "../a", "a/../../b", "./a", "a//b", "a/", "a%00b", "//host/a", "a/%2e%2e/b"),
        *("%2e%2e/a", "%2e%2e%2fa", "%2E%2E%2Fa", "a/%2e%2e%2f%2e%2e/b", ".%2e/a"),
        *("%2Fetc/passwd", "%2f%2fhost/a", "a%2f%2fb", "..%5Ca", "%5Ca", "a/..%5C..%5Cb"),
        *("/../etc/passwd", "/lake/../x", "/%2e%2e/x", "file:/lake/../x", "file:///"),
        *("s3://bucket/../x", "s3:/x", "s3:///x"),
    ],
)
def test_a_path_that_leads_astray_makes_the_table_invalid_and_is_named(uri: str) -> None:
    with pytest.raises(InvalidTable) as refused:
        resolve(FILE, uri)
    assert repr(uri) in str(refused.value)


@pytest.mark.parametrize("uri", ["s3://bucket//x", "s3://bucket/a//b", "file://host/x"])
def test_a_legal_uri_that_no_storage_opens_is_unsupported(uri: str) -> None:
    with pytest.raises(Unsupported):
        resolve(FILE, uri)


@given(st.text())
def test_whatever_a_relative_uri_says_it_stays_below_the_root_or_is_refused(uri: str) -> None:
    try:
        url = resolve(S3, uri)
    except EskerError:
        return
    if url.startswith(S3 + "/"):
        checked(url.removeprefix(S3 + "/"))
    else:
        assert uri.startswith("/") or ":/" in uri


@given(st.lists(st.text(st.characters(exclude_characters="/\0\\", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_an_encoded_path_resolves_to_itself(segments: list[str]) -> None:
    path = "/".join(segment if segment not in (".", "..") else "dot" for segment in segments)
    assert resolve(S3, quote(path)) == join_url(S3, path)


@given(st.text())
def test_a_checked_path_never_climbs(path: str) -> None:
    try:
        checked(path)
    except InvalidRequest:
        return
    assert {"", ".", ".."}.isdisjoint(path.split("/"))


@pytest.mark.parametrize(
    "url, root, name",
    [
        ("s3://bucket/a/b c.parquet", "s3://bucket/a", "b c.parquet"),
        ("s3://bucket/a", "s3://bucket", "a"),
        ("file:///a", "file://", "a"),
        ("file:///a/b%20", "file:///a", "b%20"),
    ],
)
def test_a_file_is_a_root_and_a_name(url: str, root: str, name: str) -> None:
    assert split_url(url) == (root, name)
    assert join_url(root, name) == url


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/", "file:///", "a/b", ""])
def test_a_url_without_a_file_cannot_be_split(url: str) -> None:
    with pytest.raises(InvalidRequest):
        split_url(url)


def test_a_url_has_a_scheme_an_authority_and_a_path() -> None:
    assert url_parts("S3://bucket/a/b/") == ("s3", "bucket", "a/b")
    assert url_parts("file:///a") == ("file", "", "a")


MOVES = {
    "s3://old": "file:///new",
    "s3://old/deep/": "s3://other/x/",
    "s3://old/deep/er": "gs://b",
    "file:///": "s3://root",
}


@pytest.mark.parametrize(
    "url, moved",
    [
        ("s3://old/a", "file:///new/a"),
        ("s3://old", "file:///new"),
        ("s3://older/a", "s3://older/a"),
        ("s3://old/deep/a", "s3://other/x/a"),
        ("s3://old/deeper/a", "file:///new/deeper/a"),
        ("s3://old/deep/er/a", "gs://b/a"),
        ("file:///a/b", "s3://root/a/b"),
        ("gs://elsewhere/a", "gs://elsewhere/a"),
    ],
)
def test_the_longest_prefix_that_ends_at_a_segment_is_relocated(url: str, moved: str) -> None:
    assert relocated(url, MOVES) == moved


def test_a_table_can_be_relocated_to_the_root_folder() -> None:
    assert relocated("s3://old/a", {"s3://old": "file:///"}) == "file:///a"
