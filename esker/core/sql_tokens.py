"""Of which tokens is a piece of Spark SQL made?

Just enough to find where an expression ends and to tell a name from a text: what an expression means is Spark's to say.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from esker.errors import InvalidRequest


class TokenKind(Enum):
    """What a token is."""

    WORD = "word"
    NAME = "name in backticks"
    STRING = "text"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is written, from `start` to before `end`."""

    kind: TokenKind
    text: str
    start: int
    end: int

    def says(self, *words: str) -> bool:
        """Whether it is one of these words or symbols; words are compared ignoring case."""
        return self.kind in (TokenKind.WORD, TokenKind.SYMBOL) and self.text.upper() in words

    @property
    def name(self) -> str | None:
        """The name that a word, or a name in backticks, spells."""
        match self.kind:
            case TokenKind.WORD:
                return self.text
            case TokenKind.NAME:
                return self.text[1:-1].replace("``", "`")
        return None

    @property
    def value(self) -> str:
        """What a text says, without its quotes and escapes."""
        if self.text[0] in "rR":
            return self.text[2:-1]
        quote = self.text[0]
        return _ESCAPE.sub(_unescaped, self.text[1:-1].replace(quote * 2, quote))


def tokens(text: str) -> tuple[Token, ...]:
    """The tokens, and one for the end. Raises `InvalidRequest` where a quote or a comment is not closed."""
    return (*_tokens(text), Token(TokenKind.END, "", len(text), len(text)))


class Cursor:
    """A place between the tokens of a text, for whoever reads them one after the other."""

    def __init__(self, text: str):
        self.text = text
        self._tokens = tokens(text)
        self._position = 0

    @property
    def token(self) -> Token:
        """What comes next."""
        return self.peek(0)

    @property
    def is_done(self) -> bool:
        return self.token.kind is TokenKind.END

    def peek(self, ahead: int = 1) -> Token:
        """What comes later."""
        return self._tokens[min(self._position + ahead, len(self._tokens) - 1)]

    def next(self) -> Token:
        """Move past a token."""
        token = self.token
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def takes(self, *words: str) -> bool:
        """Move on if these words follow, one after the other."""
        follow = all(self.peek(i).says(word) for i, word in enumerate(words))
        self._position += len(words) if follow else 0
        return follow

    def expect(self, *words: str) -> None:
        """Move past these words. Raises `InvalidRequest` where others follow."""
        for word in words:
            if not self.takes(word):
                raise self.refused(f"{word} is expected")

    def name(self) -> str:
        """Move past a name."""
        token = self.next()
        name = token.name
        if name is None:
            raise self.refused("a name is expected; one that is no word goes in backticks", token)
        return name

    def string(self) -> str:
        """Move past a text in quotes."""
        token = self.next()
        if token.kind is not TokenKind.STRING:
            raise self.refused("a text in quotes is expected", token)
        return token.value

    def integer(self) -> int:
        """Move past a whole number."""
        sign = -1 if self.takes("-") else 1
        token = self.next()
        if token.kind is not TokenKind.NUMBER or not token.text.isdecimal():
            raise self.refused("a whole number is expected", token)
        return sign * int(token.text)

    def refused(self, what: str, token: Token | None = None) -> InvalidRequest:
        """The error that shows the token at fault, by default the next one."""
        at = token or self.token
        return refusal(self.text, f"{what}, not {at.text or 'the end'}", at.start)


def check_enclosed(text: str) -> None:
    """Raise `InvalidRequest` unless the text stays one piece when it is put between parentheses on lines of their own."""
    depth = 0
    found = tokens(text)
    for token in found:
        depth += token.says("(", "[") - token.says(")", "]")
        if depth < 0 or token.says(";"):
            raise refusal(text, f"{token.text} has no place here", token.start)
    if depth or len(found) == 1:
        raise refusal(text, "it is not finished", len(text))


def refusal(text: str, what: str, position: int) -> InvalidRequest:
    """The error that shows where a text goes wrong."""
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return InvalidRequest(f"cannot read the text at line {line}, column {column}: {what}", problems=[text] if text else [])


_TOKEN = re.compile(
    r"""
      (?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<NAME>`(?:[^`]|``)+`)
    | (?P<STRING>[rR](?:'[^']*'|"[^"]*")|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<NUMBER>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    | (?P<WORD>\w+)
    | (?P<open>[`'"]|/\*)
    | (?P<SYMBOL>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_LETTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _tokens(text: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(text):
        match found.lastgroup:
            case "blank":
                continue
            case "open":
                raise refusal(text, f"what {found[0]} opens is not closed", found.start())
            case kind:
                yield Token(TokenKind[str(kind)], found[0], found.start(), found.end())


def _unescaped(found: re.Match[str]) -> str:
    short, long, octal, letter = found.groups()
    if octal:
        return chr(int(octal, 8))
    if code := short or long:
        return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else found[0]
    return _LETTERS.get(letter, letter)
