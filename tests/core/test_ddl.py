"""Which columns a text declares: Spark SQL's words for columns and types."""

import pytest
from hypothesis import given

from esker.core import types as t
from esker.core.ddl import ColumnDefinition, Identity, parse_ddl, parse_type
from esker.core.types import Array, Decimal, Field, Map, Struct, Type
from esker.errors import InvalidRequest
from tests.core.schemas import HOSTILE, schemas

TYPES: list[tuple[str, Type]] = [
    ("boolean", t.BOOLEAN), ("tinyint", t.BYTE), ("byte", t.BYTE), ("smallint", t.SHORT), ("short", t.SHORT),
    ("int", t.INTEGER), ("integer", t.INTEGER), ("bigint", t.LONG), ("long", t.LONG), ("float", t.FLOAT), ("real", t.FLOAT),
    ("double", t.DOUBLE), ("string", t.STRING), ("binary", t.BINARY), ("date", t.DATE), ("timestamp", t.TIMESTAMP),
    ("timestamp_ltz", t.TIMESTAMP), ("timestamp_ntz", t.TIMESTAMP_NTZ), ("variant", t.VARIANT), ("void", t.VOID),
    ("decimal", Decimal(10, 0)), ("dec(5)", Decimal(5, 0)), ("numeric(38, 38)", Decimal(38, 38)),
    ("DECIMAL ( 12 , 2 )", Decimal(12, 2)), ("array<int>", Array(t.INTEGER)), ("Array < array<int>>", Array(Array(t.INTEGER))),
    ("map<string,array<map<int,date>>>", Map(t.STRING, Array(Map(t.INTEGER, t.DATE)))), ("struct<>", Struct()),
    ("struct<a int, b: string>", Struct((Field("a", t.INTEGER), Field("b", t.STRING)))),
    ("struct<a:int NOT NULL COMMENT 'x',`b c`:array<struct<d:date>>>",
     Struct((Field("a", t.INTEGER, False, metadata={"comment": "x"}), Field("b c", Array(Struct((Field("d", t.DATE),))))))),
]  # fmt: skip


@pytest.mark.parametrize("text, kind", TYPES)
def test_a_type_is_read_by_sparks_words_for_it(text: str, kind: Type) -> None:
    assert parse_type(text) == kind


def column(text: str) -> ColumnDefinition:
    (found,) = parse_ddl(text)
    return found


def test_columns_come_in_the_order_of_the_text() -> None:
    assert [d.field for d in parse_ddl("id bigint NOT NULL, name string COMMENT 'x' , d date")] == [
        Field("id", t.LONG, False), Field("name", t.STRING, metadata={"comment": "x"}), Field("d", t.DATE),
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["date", "comment", "default", "generated", "not", "array", "order", "1st", "日本"])
def test_any_word_can_be_the_name_of_a_column(word: str) -> None:
    assert column(f"{word} date").field == Field(word, t.DATE)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_in_backticks_is_whatever_it_holds(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    assert column(f"{quoted} int COMMENT 'a`b'").field == Field(name, t.INTEGER, metadata={"comment": "a`b"})


@pytest.mark.parametrize(
    "text, said",
    [
        ("'x'", "x"), ('"x"', "x"), ("''", ""), ("'it''s'", "it's"), (r"'it\'s'", "it's"), (r"'a\nb\t\\'", "a\nb\t\\"),
        (r"'\u00e9\U0001F600\101'", "é😀A"), (r"'100\% \_'", r"100\% \_"), (r"r'a\n'", r"a\n"), (r'R"it\s"', r"it\s"),
        ("'a, b) COMMENT'", "a, b) COMMENT"), ("'-- no comment'", "-- no comment"), ("'line\nbreak'", "line\nbreak"),
    ],
)  # fmt: skip
def test_a_comment_is_a_text_with_its_escapes_undone(text: str, said: str) -> None:
    assert column(f"a int COMMENT {text}").field.metadata == {"comment": said}


@pytest.mark.parametrize(
    "default",
    ["42", "-1.5e3", "'x, y'", "NULL", "current_timestamp()", "array(1, 2)[0]", "CAST('1' AS INT)", "x IS NOT NULL", "NOT NULL",
     "a AND NOT NULL", "CASE WHEN 1 < 2 THEN 'COMMENT' ELSE 'x' END", "(1, 'NOT NULL')", "map('a', named_struct('b', 1))",
     "1 -- one\n + 1", "comment", "coalesce(comment, 'x')"],
)  # fmt: skip
@pytest.mark.parametrize("rest", ["", " NOT NULL", " COMMENT 'c'", " NOT NULL COMMENT 'c'", ", z int"])
def test_a_default_reaches_to_the_next_option_or_column(default: str, rest: str) -> None:
    found = parse_ddl(f"a int DEFAULT {default}{rest}")
    assert found[0].default == default
    assert found[0].field.nullable == ("NOT NULL" not in rest)
    assert len(found) == (2 if "," in rest else 1)


@pytest.mark.parametrize("expression", ["b + 1", "f(a, (b))", "substring(c FROM 0 FOR 4)", "')'", "`)`", "a /* ) */ + b"])
def test_a_generated_column_has_the_text_between_its_parentheses(expression: str) -> None:
    found = column(f"a int GENERATED ALWAYS AS ( {expression} ) COMMENT 'x'")
    assert (found.generated, found.field.metadata) == (expression, {"comment": "x"})


@pytest.mark.parametrize(
    "text, identity",
    [
        ("ALWAYS AS IDENTITY", Identity(1, 1, False)),
        ("BY DEFAULT AS IDENTITY", Identity(1, 1, True)),
        ("always as identity ( )", Identity(1, 1, False)),
        ("ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5)", Identity(10, 5, False)),
        ("ALWAYS AS IDENTITY (INCREMENT BY -2, START WITH -7)", Identity(-7, -2, False)),
        ("BY DEFAULT AS IDENTITY (START WITH 0)", Identity(0, 1, True)),
    ],
)
def test_an_identity_column_has_a_start_and_a_step(text: str, identity: Identity) -> None:
    assert column(f"id bigint GENERATED {text}").identity == identity


@pytest.mark.parametrize(
    "text, line, col, expected",
    [
        ("", 1, 1, "a name"), ("a", 1, 2, "a type"), ("a int,", 1, 7, "a name"), ("a int b int", 1, 7, "an option"),
        ("a unheard", 1, 3, "a type"), ("a varchar(10)", 1, 3, "STRING"), ("a interval day", 1, 3, "a type"),
        ("a int,\n b decimal(39,1)", 2, 11, "38 digits"), ("a decimal(5,6)", 1, 10, "digits"), ("a decimal(1.5)", 1, 11, "number"),
        ("a array<int", 1, 12, ">"), ("a map<int>", 1, 10, ","), ("a struct<b>", 1, 11, "a type"), ("`a int", 1, 1, "closed"),
        ("a int COMMENT x", 1, 15, "a text"), ("a int COMMENT 'x", 1, 15, "closed"), ("a int /* x", 1, 7, "closed"),
        ("a int DEFAULT", 1, 14, "expression"), ("a int DEFAULT (1", 1, 17, "bracket"), ("a int DEFAULT 1)", 1, 16, "expression"),
        ("a int NOT NULL NOT NULL", 1, 16, "once"), ("a int DEFAULT 1 GENERATED ALWAYS AS (2)", 1, 17, "once"),
        ("a int GENERATED ALWAYS AS ()", 1, 28, "expression"), ("a int GENERATED ALWAYS AS (1", 1, 29, "closing"),
        ("a int GENERATED BY DEFAULT AS (1)", 1, 31, "IDENTITY"), ("a int GENERATED ALWAYS AS IDENTITY (INCREMENT BY 0)", 1, 50, "step"),
        ("a int GENERATED ALWAYS AS IDENTITY (START WITH 1 START WITH 2)", 1, 50, "START WITH"), ("a string COLLATE UNICODE", 1, 10, "collations"),
        ("12 int", 1, 1, "a name"), ("a.b int", 1, 2, "a type"), ("PRIMARY KEY (a)", 1, 9, "a type"), ("a int; drop table x", 1, 6, "an option"),
    ],
)  # fmt: skip
def test_a_text_that_declares_no_columns_is_refused_with_the_position(text: str, line: int, col: int, expected: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_ddl(text)
    assert refused.value.what.startswith(f"cannot read the text at line {line}, column {col}: ")
    assert expected in refused.value.what


@pytest.mark.parametrize("text", ["", "int int", "array<", "struct<a int>>", "map<,>", "unheard"])
def test_a_text_that_names_no_type_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_type(text)


def test_a_type_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="nested too deeply"):
        parse_type("array<" * 100_000 + "int" + ">" * 100_000)


def printed(kind: Type) -> str:
    match kind:
        case Struct():
            return f"struct<{', '.join(printed_field(f, ': ') for f in kind)}>"
        case Array():
            return f"array<{printed(kind.element)}>"
        case Map():
            return f"map<{printed(kind.key)}, {printed(kind.value)}>"
    return {"byte": "tinyint", "short": "smallint", "long": "bigint"}.get(str(kind), str(kind))


def printed_field(field: Field, between: str = " ") -> str:
    text = f"`{field.name.replace('`', '``')}`{between}{printed(field.type)}"
    comment = str(field.metadata.get("comment", "")).replace("\\", "\\\\").replace("'", "\\'")
    text += "" if field.nullable else " NOT NULL"
    return text + (f" COMMENT '{comment}'" if "comment" in field.metadata else "")


@given(schemas())
def test_what_is_printed_is_read_back(schema: Struct) -> None:
    assert Struct(tuple(d.field for d in parse_ddl(", ".join(printed_field(f) for f in schema)))) == schema
