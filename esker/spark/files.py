"""How does Spark spell the path of a file?

Our URLs are literal: `file:///lake/a b.parquet`. Hadoop's `Path` is literal too, `spark.read` looks for wildcards in it, and
`_metadata.file_path` gives it back percent-encoded, by the rules of `java.net.URI`.
"""

import string
import unicodedata

# Of Spark's reader of Parquet. What table formats store is never to be rebased; a footer that says otherwise is still believed.
# A session that overlooks files which are missing or broken does so elsewhere: rows of a table are not left out in silence.
PARQUET_OPTIONS = {
    "datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED",
    "ignoreMissingFiles": "false", "ignoreCorruptFiles": "false",
}  # fmt: skip
_UNESCAPED = frozenset(string.ascii_letters + string.digits + "-_.!~*'()" + ",;:$&+=" + "@/")
_WILDCARDS = frozenset("{}[]*?\\")
_SCHEMES = {"s3": "s3a"}  # Hadoop's client for S3 answers to its own name


def spark_path(url: str) -> str:
    """The text that Hadoop's `Path` takes for this URL."""
    scheme, rest = url.split("://", 1)
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}"


def spark_pattern(url: str) -> str:
    """The text with which `spark.read` finds this file and no other."""
    return "".join(f"\\{c}" if c in _WILDCARDS else c for c in spark_path(url))


def spark_key(url: str) -> str:
    """What `_metadata.file_path` says of the rows of this file."""
    scheme, rest = spark_path(url).split("://", 1)
    authority, slash, path = rest.partition("/")
    return f"{scheme}:{'//' + authority if authority else ''}{slash}{_escaped(path)}"


def key_of_input_file(name: str) -> str:
    """The key of a file that `DataFrame.inputFiles()` names."""
    return "file:/" + name.removeprefix("file:///") if name.startswith("file:///") else name


def is_listed(url: str) -> bool:
    """Whether `spark.read` sees the file. Spark takes some names for hidden and reads them, silently, as empty."""
    name = url.rpartition("/")[2]
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")
    return not hidden and is_openable(url)


def is_openable(url: str) -> bool:
    """Whether Hadoop can open the file: on local disks it looks for a checksum file, whose name cannot hold a colon."""
    return not (url.startswith("file:") and ":" in url.rpartition("/")[2])


def _escaped(path: str) -> str:
    return "".join(c if c in _UNESCAPED or _is_other(c) else "".join(f"%{b:02X}" for b in c.encode()) for c in path)


def _is_other(character: str) -> bool:
    """The characters beyond ASCII that are neither controls nor spaces stay as they are."""
    return ord(character) > 127 and unicodedata.category(character) not in ("Cc", "Zs", "Zl", "Zp")
