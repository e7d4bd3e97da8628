"""A text without its markup: Markdown, LaTeX and HTML marks dropped, full-width and odd characters made plain.

>>> plain(r"**\\boxed{46{,}751 \\text{ million}}** ").text
'46,751  million '
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Full-width forms, one character for one. The full-width comma separates clauses and is left alone but inside a number.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code != 0xFF0C}
_NARROW |= dict.fromkeys((0x3000, 0xA0, 0x2002, 0x2003, 0x2007, 0x2008, 0x2009, 0x200A, 0x202F), 0x20)
_NARROW |= dict.fromkeys((0x2010, 0x2011, 0xFE63), 0x2D)
_NARROW |= {0xFFE5: 0xA5, 0xFE69: 0x24, 0xFE6A: 0x25, 0x2236: 0x3A}
_NARROW |= {0x1D7CE + i: 0x30 + i % 10 for i in range(50)}  # mathematical digits, five styles
_WIDE_COMMA = re.compile(r"(?<=[０-９])，(?=[０-９]{3})")
_THIN_GROUPS = re.compile(r"(?<=\d)[\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))|(?<=\d)['’](?=\d{3}(?!\d))")

_MARKED = re.compile(r"[\\*_`~<\[【{}&\u200b-\u200d\u2060\ufeff]|^[ \t>]*[-+#•]", re.MULTILINE)
_MATH = re.compile(r"(?<![\\$A-Za-z0-9])\$(?=[^\s$])(?P<inside>(?:\\.|[^$\n\\]){1,300})(?<![\s\\])\$(?!\d)")
_FORMULA = re.compile(r"[-+−\d.,%\s=×*/()≈]+")
_COMMANDS = r"boxed|fbox|mbox|text[a-z]*|math[a-z]+|operatorname|underline|mathbf|bm|pmb|color"
_SYMBOLS = {
    "approx": "≈",
    "simeq": "≈",
    "sim": "~",
    "times": "×",
    "cdot": "×",
    "div": "÷",
    "pm": "±",
    "percent": "%",
    "textdollar": "$",
    "yen": "¥",
    "textyen": "¥",
    "euro": "€",
    "pounds": "£",
    "n": "\n",
    "quad": " ",
    "qquad": " ",
    "%": "%",
    "$": "$",
    "#": "#",
    "&": "&",
    "_": "_",
    ",": " ",
    ";": " ",
    ":": " ",
    " ": " ",
    "~": "~",
    "*": "*",
    "-": "-",
    "\\": "\n",
}  # any other command is dropped
_STRONG_COMMANDS = ("textbf", "mathbf", "bm", "pmb", "underline")
_ENTITIES = {
    "nbsp": " ",
    "amp": "&",
    "dollar": "$",
    "#36": "$",
    "yen": "¥",
    "thinsp": " ",
    "minus": "−",
    "lt": "<",
    "gt": ">",
}
_MARK = re.compile(
    rf"""
      (?P<group>\{{,\}})
    | \\(?P<command>{_COMMANDS})\s*\{{
    | \\d?t?(?P<fraction>frac)\s*\{{
    | \\(?P<symbol>n(?![a-z])|[A-Za-z]+|.)[ ]?
    | (?P<open>\{{) | (?P<close>\}})
    | (?P<fence>```[a-z]*\n?|`+)
    | (?P<rule>^[ \t]*(?:\*{{3,}}|-{{3,}}|_{{3,}})[ \t]*$) | (?P<display>\$\$)
    | (?P<bullet>^[ \t>]*[*+•-](?=[ \t])) | (?P<heading>^[ \t]*\#{{1,6}}(?=[ \t]))
    | (?P<strong>\*\*(?!\s\d)|(?<![A-Za-z0-9_])__(?=\S)|(?<=\S)__(?![A-Za-z0-9_]))
    | (?P<strike>~~) | (?P<tie>~(?=\\))
    | (?P<star>\*)
    | (?P<under>(?<![A-Za-z0-9_])_(?=\S)|(?<=\S)_(?![A-Za-z0-9_]))
    | <(?P<tag>/?[a-z][a-z0-9]{{0,9}})\b[^<>\n]{{0,80}}>
    | &(?P<entity>\#?[a-z0-9]{{1,8}});
    | (?P<cited>\[\^?\d{{1,3}}(?:[ ]?[,–-][ ]?\d{{1,3}}){{0,4}}\](?:\([^()\s]{{1,300}}\))?
        |【\d{{1,3}}(?:[†:][^】\n]{{0,30}})?】)
    | (?P<invisible>[\u200b-\u200d\u2060\ufeff])
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


@dataclass(slots=True)
class Plain:
    """A text without its markup.

    Attributes:
        text: what is left.
        at: the offset in the source of every character of `text`, and of its end.
        strong, boxed, struck: the stretches [start, end) of `text` that were bold, boxed and struck through.
    """

    text: str
    at: list[int] | range
    strong: list[tuple[int, int]] = field(default_factory=list)
    boxed: list[tuple[int, int]] = field(default_factory=list)
    struck: list[tuple[int, int]] = field(default_factory=list)


def plain(text: str) -> Plain:
    """A text without markup, and what the markup said; stripping what is plain changes nothing."""
    text = _THIN_GROUPS.sub(",", _WIDE_COMMA.sub(",", text))
    if not _MARKED.search(text) and text.count("$") < 2:
        return Plain(text.translate(_NARROW), range(len(text) + 1))
    return _Stripper(text).strip()


class _Stripper:
    """One pass over the marks of a text."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._pieces: list[str] = []
        self._at: list[int] = []
        self._braces: list[tuple[str, int]] = []  # the command that opened it, and where in the output
        self._opened: dict[str, int] = {}  # where bold or struck text began
        self._dollars = _math_dollars(source)[::-1]
        self._plain = Plain("", [])

    def strip(self) -> Plain:
        source, end = self._source, 0
        for match in _MARK.finditer(source):
            kept = self._read(match)
            if kept is None:
                continue
            self._keep(end, match.start())
            self._apply(match, kept)
            end = match.end()
        self._keep(end, len(source))
        self._at.append(len(source))
        self._plain.text, self._plain.at = "".join(self._pieces), self._at
        return self._plain

    def _keep(self, start: int, end: int) -> None:
        """Write out [start, end) of the source but the dollars that only set off a formula."""
        while self._dollars and self._dollars[-1] < end:
            low = self._dollars.pop()
            if low >= start:
                self._write(self._source[start:low], start)
                start = low + 1
        piece = self._source[start:end]
        if "\n\n" in piece:
            self._opened.clear()  # emphasis never runs on into another paragraph
        self._write(piece, start)

    def _write(self, text: str, at: int, *, fixed: bool = False) -> None:
        if text:
            self._pieces.append(text.translate(_NARROW))
            self._at.extend([at] * len(text) if fixed else range(at, at + len(text)))

    def _read(self, match: re.Match[str]) -> str | None:
        """What stands in the place of a mark; None when it is none (a star that multiplies)."""
        kind = match.lastgroup
        if kind == "star" or (kind == "strong" and match.group() == "**"):
            left = self._source[match.start() - 1 : match.start()]
            right = self._source[match.end() : match.end() + 1]
            multiplies = _is_term(left) and _is_term(right) and kind == "star"
            return None if multiplies or (left.isspace() and right.isspace()) else ""
        if kind == "symbol":
            return _SYMBOLS.get(match["symbol"], "")
        if kind in ("group", "tie"):
            return "," if kind == "group" else " "
        if kind == "bullet":
            return "•"
        if kind == "entity":
            return _ENTITIES.get(match["entity"].lower(), " ")
        if kind == "tag":
            return "\n" if match["tag"].lower() in ("br", "p", "/p", "li", "div", "/div", "tr") else ""
        return ""

    def _apply(self, match: re.Match[str], kept: str) -> None:
        self._write(kept, match.start(), fixed=True)
        here, kind = len(self._at), match.lastgroup
        if kind in ("command", "fraction", "open"):
            self._braces.append(((match["command"] or match["fraction"] or "").lower(), here))
        elif kind == "close" and self._braces:
            self._close(match, here)
        elif kind in ("strong", "strike"):
            self._toggle(kind, here)
        elif kind == "tag":
            name = match["tag"].lower().lstrip("/")
            if name in ("b", "strong", "s", "del", "strike"):
                self._toggle("strong" if name in ("b", "strong") else "strike", here)

    def _close(self, match: re.Match[str], here: int) -> None:
        command, start = self._braces.pop()
        if command in ("boxed", "fbox"):
            self._plain.boxed.append((start, here))
        elif command in _STRONG_COMMANDS:
            self._plain.strong.append((start, here))
        elif command == "frac":
            self._write(" / ", match.start(), fixed=True)

    def _toggle(self, kind: str, here: int) -> None:
        start = self._opened.pop(kind, None)
        if start is None:
            self._opened[kind] = here
        else:
            (self._plain.strong if kind == "strong" else self._plain.struck).append((start, here))


def _is_term(character: str) -> bool:
    return (character.isascii() and character.isalnum()) or character in ("(", ")", "%")


def _math_dollars(source: str) -> list[int]:
    """Where "$" opens or closes a formula rather than an amount."""
    found: list[int] = []
    for match in _MATH.finditer(source):
        if "\\" in match["inside"] or _FORMULA.fullmatch(match["inside"]):
            found += (match.start(), match.end() - 1)
    return found
