"""The statements that DOT and DAGitty share: nodes, chains of edges, groups in braces, attributes in brackets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from ...errors import InputError
from .build import Edge, checked_text

# Nobody writes deeper groups; the limit keeps bad text from exhausting Python's stack.
_MAX_DEPTH = 50
# Unquoted names; a sign belongs to a number only, so that an unquoted a-b is an error and not two names.
_WORD = r"(?:(?<![\w.])-(?=[\d.]))?[\w.]+"
_BLANK = r"\s+|//[^\n]*|/\*.*?\*/|(?<![^\s;{}])\#[^\n]*"


@dataclass(frozen=True)
class GraphLanguage:
    """The differences between the two languages."""

    title: str
    kinds: tuple[str, ...]  # the words a text can start with
    keywords: frozenset[str]  # unquoted words that are not names
    operators: tuple[str, ...]  # longest first
    string: str  # pattern of a quoted name
    unquote: Callable[[str], str]
    # From an operator and the edge's attributes to the edge: ->, <-, -- or another.
    meaning: Callable[[str, Mapping[str, str]], str]


class Statements(NamedTuple):
    """Contents of a text: its kind (``digraph``, ``pdag``, ...), the variables in order of appearance, the edges."""

    kind: str
    names: list[str]
    edges: list[Edge]


class _Token(NamedTuple):
    type: str  # word, string, operator, mark or end
    text: str
    line: int


def read_statements(text: str, dialect: GraphLanguage) -> Statements:
    """Read a whole text; an error names the line of the first unexpected part."""
    return _Reader(checked_text(text, dialect.title), dialect).whole_text()


def _tokens(text: str, dialect: GraphLanguage) -> Iterator[_Token]:
    operator = "|".join(map(re.escape, dialect.operators))
    pattern = re.compile(
        rf"(?P<blank>{_BLANK})|(?P<string>{dialect.string})|(?P<operator>{operator})|(?P<word>{_WORD})"
        r"|(?P<mark>[{}\[\]=;,+])",
        re.DOTALL,
    )
    at, line = 0, 1
    while at < len(text):
        found = pattern.match(text, at)
        if found is None:
            raise InputError(f"{dialect.title}, line {line}: {_unreadable(text[at : at + 20])}")
        kind, part = str(found.lastgroup), found.group()
        if kind != "blank":
            yield _Token(kind, dialect.unquote(part[1:-1]) if kind == "string" else part, line)
        line += part.count("\n")
        at = found.end()
    yield _Token("end", "the end of the text", line)


def _unreadable(rest: str) -> str:
    if rest.startswith('"'):
        return "a quoted name starts here and does not end"
    if rest.startswith("/*"):
        return "a comment starts here and does not end"
    return f"cannot read {rest.splitlines()[0]!r}; put names that are not plain words in double quotes"


class _Reader:
    """A recursive descent over the tokens; one is created per text."""

    def __init__(self, text: str, dialect: GraphLanguage) -> None:
        self.dialect = dialect
        self.tokens = list(_tokens(text, dialect))
        self.at = 0
        self.names: dict[str, None] = {}
        self.edges: list[Edge] = []

    def whole_text(self) -> Statements:
        if self._word("strict"):
            self.at += 1
        head = self.tokens[self.at]
        kind = head.text.lower()
        if head.type != "word" or kind not in self.dialect.kinds:
            self._fail(f"{' or '.join(f'{k} {{' for k in self.dialect.kinds)} (the text itself, not a file name)")
        self.at += 1
        if self._next("word", "string"):
            self.at += 1
        self._expect("{")
        self._statements({}, 0)
        if self.tokens[self.at].type != "end":
            self._fail("the end of the text, one graph only")
        return Statements(kind, list(self.names), self.edges)

    def _statements(self, defaults: Mapping[str, str], depth: int) -> list[str]:
        """Read up to the closing brace; return the variables mentioned, each once."""
        own: dict[str, str] = dict(defaults)  # attributes that `edge [...]` sets, for the statements that follow
        mentioned: dict[str, None] = {}
        while not self._skip("}"):
            if self._skip(";"):
                continue
            if self._next("end"):
                self._fail("a statement or }")
            keyword = self._keyword()
            if keyword in ("graph", "node", "edge"):
                self.at += 1
                if self.tokens[self.at].text != "[":
                    self._fail(f"attributes after {keyword!r} (as a name, write it in double quotes)")
                attributes = self._attributes()
                if keyword == "edge":
                    own.update(attributes)
                continue
            mentioned.update(dict.fromkeys(self._chain(own, depth)))
        return list(mentioned)

    def _chain(self, defaults: Mapping[str, str], depth: int) -> list[str]:
        """Read ``a``, ``a = b`` or ``a -> b -> {c d}``, with attributes."""
        terms = [self._term(defaults, depth, first=True)]
        links: list[_Token] = []
        while self._next("operator"):
            links.append(self.tokens[self.at])
            self.at += 1
            terms.append(self._term(defaults, depth))
        attributes = {**defaults, **self._attributes()}
        for left, link, right in zip(terms, links, terms[1:], strict=False):
            self.edges += [self._edge(a, link, b, attributes) for a in left for b in right]
        return [name for term in terms for name in term]

    def _term(self, defaults: Mapping[str, str], depth: int, first: bool = False) -> list[str]:
        if self._keyword() == "subgraph":
            self.at += 1
            if self._next("word", "string"):
                self.at += 1
            if self.tokens[self.at].text != "{":
                self._fail("{")
        if self._skip("{"):
            if depth == _MAX_DEPTH:
                where = f"{self.dialect.title}, line {self.tokens[self.at].line}"
                raise InputError(f"{where}: more than {_MAX_DEPTH} groups in one another; write the edges out")
            return self._statements(defaults, depth + 1)
        name = self._name()
        if first and self._skip("="):  # an attribute of the graph, not a variable
            self._name()
            return []
        self.names.setdefault(name)
        return [name]

    def _edge(self, a: str, link: _Token, b: str, attributes: Mapping[str, str]) -> Edge:
        kind = self.dialect.meaning(link.text, attributes)
        where = f"{self.dialect.title}, line {link.line}"
        if kind not in ("->", "<-", "--"):
            raise InputError(f"{where}: {a} {kind} {b} is not an edge of a PDAG, which has only ->, <- and --")
        return Edge(b, "->", a, where) if kind == "<-" else Edge(a, kind, b, where)

    def _attributes(self) -> dict[str, str]:
        """Read ``[key=value, flag]``, any number of times."""
        found: dict[str, str] = {}
        while self._skip("["):
            while not self._skip("]"):
                if self._skip(",") or self._skip(";"):
                    continue
                if self._next("end"):
                    self._fail("an attribute or ]")
                key = self._name()
                found[key] = self._name() if self._skip("=") else ""
        return found

    def _name(self) -> str:
        """Read a word, or quoted parts joined by ``+``."""
        token = self.tokens[self.at]
        if token.type not in ("word", "string") or self._keyword():
            self._fail("a name")
        self.at += 1
        name = token.text
        while token.type == "string" and self._skip("+"):
            if not self._next("string"):
                self._fail("a quoted name after +")
            name += self.tokens[self.at].text
            self.at += 1
        return name

    def _keyword(self) -> str:
        """Return the keyword that is next, or an empty string."""
        word = self.tokens[self.at].text.lower() if self._next("word") else ""
        return word if word in self.dialect.keywords else ""

    def _word(self, text: str) -> bool:
        return self._next("word") and self.tokens[self.at].text.lower() == text

    def _next(self, *types: str) -> bool:
        return self.tokens[self.at].type in types

    def _skip(self, mark: str) -> bool:
        """Pass a punctuation mark if it is next."""
        is_next = self.tokens[self.at][:2] == ("mark", mark)
        self.at += is_next
        return is_next

    def _expect(self, mark: str) -> None:
        if not self._skip(mark):
            self._fail(mark)

    def _fail(self, expected: str) -> NoReturn:
        token = self.tokens[self.at]
        found = token.text if token.type == "end" else repr(token.text[:40])
        raise InputError(f"{self.dialect.title}, line {token.line}: expected {expected}, found {found}")
