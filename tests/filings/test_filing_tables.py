"""Tables and passages of filings: columns kept, title and unit with the table, no paragraph too long."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.filings.documents import read_filing
from fiqkit.filings.fact import Reading
from fiqkit.filings.tables import Placed, aligned
from fiqkit.filings.text import WORDS, Block, pack


def texts(html: str | bytes, name: str = "a.htm") -> list[str]:
    reading = Reading()
    read_filing(html.encode() if isinstance(html, str) else html, Path(name), reading)
    return [passage.text for passage in reading.passages]


def table(*rows: str) -> str:
    """The passage of a table of cells between bars; "a:2" spans two columns, "a^2" two rows."""

    def cell(text: str) -> str:
        text, _, rows = text.partition("^")
        text, _, columns = text.partition(":")
        return f'<td colspan="{columns or 1}" rowspan="{rows or 1}">{text}</td>'

    body = "".join("<tr>" + "".join(map(cell, row.split("|"))) + "</tr>" for row in rows)
    (text,) = texts(f"<html><body><p>Title</p><table>{body}</table></body></html>")
    return text.removeprefix("Title\n")


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        # blank cells keep their column
        (["|A|B|C", "x|1||3", "y||2|"], [" | A | B | C", "x | 1 |  | 3", "y |  | 2 | "]),
        # signs go to their figure, in columns of their own or not
        (["|2024:3||2023:3", "x|$|(30|)||$|5|", "y|1:3||2:3"], [" | 2024 | 2023", "x | $(30) | $5", "y | 1 | 2"]),
        (["|2024:2|2023:2", "x|5|%|—|%", "y|(6|)%|7|%"], [" | 2024 | 2023", "x | 5% | —%", "y | (6)% | 7%"]),
        # a heading over several columns stands over each
        (
            ["|Year:2|Change^2", "|2024|2023", "x|1|2|3"],
            [" | Year | Year | Change", " | 2024 | 2023 | ", "x | 1 | 2 | 3"],
        ),
        # a heading beside the figures of its column is theirs
        (["||2024||2023|", "x||1||2|", "y|||5||6"], None),
        # a title over the whole table is one cell
        (["In millions:3", "x|1|2", "y|3|4"], ["In millions |  | ", "x | 1 | 2", "y | 3 | 4"]),
        # footnote marks are no figures
        (["|2024||2023", "x|5|(1)|7", "y|6||8"], [" | 2024 | 2023", "x | 5 (1) | 7", "y | 6 | 8"]),
        # a column of losses is one
        (["|2024|2023", "x|(1)|7", "y|(2)|8"], [" | 2024 | 2023", "x | (1) | 7", "y | (2) | 8"]),
        # a cell that reaches down pushes the next row's to the right
        (["Group^2|a|1", "b|2", "c||3"], ["Group | a | 1", " | b | 2", "c |  | 3"]),
    ],
)
def test_columns(rows: list[str], lines: list[str] | None) -> None:
    found = table(*rows).split("\n")
    assert len({line.count("|") for line in found}) == 1
    assert lines is None or found == lines


cells = st.lists(st.sampled_from(["", "", "1,234", "(5)", "$", ")", "%", "—", "Sales", "2024"]), min_size=1, max_size=8)


@given(st.lists(cells, min_size=1, max_size=8), st.integers(1, 3))
def test_every_row_has_every_column_and_no_text_is_lost(rows: list[list[str]], width: int) -> None:
    placed = [[Placed(n * width, (n + 1) * width, text) for n, text in enumerate(row)] for row in rows]
    found = aligned(placed)
    assert len({len(row) for row in found}) <= 1
    for row, line in zip(filter(any, rows), found, strict=True):
        assert all(text in "".join(line) for text in row)


def test_words_are_joined_as_displayed() -> None:
    """Spans part nothing, line breaks and cells do; exclusions, hidden parts and ix:header are out."""
    html = (
        "<html xmlns:ix='http://www.xbrl.org/2013/inlineXBRL'><body>"
        "<p>Inven<span>tor</span>ies<sup>(1)</sup> fell<br/>by "
        "<b>5</b>%<ix:exclude> PAGE 41</ix:exclude>.</p><div style='display: none'>hidden</div></body></html>"
    )
    assert texts(html) == ["Inventories(1) fell\nby 5%."]
    rows = "<tr><td>Inven<b>tories</b><br/>net</td><td><span>1,2</span><span>34</span></td><td>5</td></tr>" * 2
    assert texts(f"<html><body><table>{rows}</table></body></html>") == [
        "Inventories net | 1,234 | 5\n" * 1 + "Inventories net | 1,234 | 5"
    ]


def test_title_and_unit_stand_over_the_table_and_nowhere_else() -> None:
    rows = "<tr><td></td><td>2024</td><td>2023</td></tr><tr><td>Cash</td><td>10</td><td>9</td></tr>"
    html = (
        "<html><body><p>Item 8. Financial Statements</p><p>We audited the statements.</p><p>41</p><p>EXAMPLE CORP</p>"
        f"<p>CONSOLIDATED BALANCE SHEETS</p><p>(in thousands)</p><table>{rows}{rows}</table></body></html>"
    )
    first, second = texts(html)
    assert first == "Item 8. Financial Statements\nWe audited the statements.\n41"
    assert second.split("\n")[:4] == [
        "Item 8. Financial Statements",
        "EXAMPLE CORP",
        "CONSOLIDATED BALANCE SHEETS",
        "(in thousands)",
    ]


def test_a_search_for_a_statement_finds_its_table(tmp_path: Path) -> None:
    from fiqkit.index.builder import build
    from fiqkit.index.search import Index

    rows = "<tr><td></td><td>2024</td><td>2023</td></tr><tr><td>Cash</td><td>10</td><td>9</td></tr>"
    html = "<html><body>" + "".join(
        f"<p>The notes are part of these statements.</p><p>{what.upper()}</p><p>(in millions)</p>"
        f"<table>{rows}{rows.replace('10', str(n))}</table>"
        for n, what in enumerate(("consolidated balance sheet", "statement of income", "statement of cash flows"), 50)
    )
    reading = Reading()
    read_filing(html.encode(), Path("a.htm"), reading)
    build(reading.passages, tmp_path / "i", embedder_name="none")
    for query, figure in (("balance sheet", "50 | 9"), ("cash flows", "52 | 9")):
        assert figure in Index.open(tmp_path / "i").search(query, k=1)[0].text


@given(st.lists(st.integers(1, 900), min_size=1, max_size=6), st.sampled_from(["", "Item 7. MD&A"]))
def test_passages_of_text_have_at_most_250_words_and_lose_none(lengths: list[int], section: str) -> None:
    paragraphs = [" ".join(f"w{n}.{k}" + "." * (k % 9 == 0) for k in range(length)) for n, length in enumerate(lengths)]
    found = list(pack(Block(text, section) for text in paragraphs))
    assert max(len(text.split()) for text in found) <= WORDS
    body = " ".join(text.removeprefix(section) for text in found).split()
    assert body == " ".join(paragraphs).split()


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_html_that_declares_no_encoding(encoding: str) -> None:
    assert texts("<html><body><p>Résultat – 5 €</p></body></html>".encode(encoding)) == ["Résultat – 5 €"]


def test_html5_sections_and_captions_are_kept() -> None:
    rows = "<tr><td>Cash</td><td>10</td></tr><tr><td>Debt</td><td>8</td></tr>"
    main = f"<article>Sales rose.</article><table><caption>Position</caption>{rows}</table>"
    html = f"<html><body><header><p>Report</p></header><main>{main}</main></body></html>"
    assert texts(html) == ["Report\nSales rose.", "Sales rose.\nPosition | \nCash | 10\nDebt | 8"]


def test_tables_in_tables() -> None:
    """Alone in its row a table gives that row's place its own; beside other text it comes after."""
    rows = "<tr><td></td><td>2024</td></tr><tr><td>Cash</td><td>10</td></tr><tr><td>Debt</td><td>8</td></tr>"
    inner = f"<table>{rows}</table>"
    (text,) = texts(f"<html><body><table><tr><td>{inner}</td></tr></table></body></html>")
    assert text == " | 2024\nCash | 10\nDebt | 8"
    (text,) = texts(f"<html><body><table><tr><td>Outer</td><td>{inner}</td></tr></table></body></html>")
    assert text == "Outer\n | 2024\nCash | 10\nDebt | 8"


PLAIN = b"""<SEC-DOCUMENT>x
ACCESSION NUMBER:\t\t0000012345-98-000009
CONFORMED SUBMISSION TYPE:\t10-K405
FILED AS OF DATE:\t\t19980203
<DOCUMENT>
<TYPE>10-K405
<TEXT>
                    ACME CORP

     ITEM 1. BUSINESS

     We make rockets and sell them to
those who need them.
<PAGE>
<TABLE>
<CAPTION>
                          CONSOLIDATED BALANCE SHEET
                             (In thousands)
                                        1998         1997
<S>                                  <C>          <C>
Cash and equivalents ............    $ 1,234      $   987
Receivables                                           321
  of which from                         (456)
                                     -------      -------
Total assets                         $   778      $ 1,308
                                     =======      =======
</TABLE>
</TEXT>
</DOCUMENT>
"""


def test_columns_in_plain_text_that_no_tag_marks() -> None:
    body = b"""     ITEM 6. SELECTED DATA

The company sold more
than in the year before.

                      1998        1997
Net sales          $ 1,234     $   987
Net income ........     56          43
"""
    found = texts(PLAIN[: PLAIN.index(b"     ITEM 1.")] + body + b"</TEXT>\n</DOCUMENT>\n", "x.txt")
    assert found[-1].endswith(" | 1998 | 1997\nNet sales | $1,234 | $987\nNet income | 56 | 43")
    assert found[-1].startswith("ITEM 6. SELECTED DATA\nThe company sold more than in the year before.")


def test_a_filing_in_plain_text() -> None:
    assert texts(PLAIN, "x.txt") == [
        "ACME CORP",
        "ITEM 1. BUSINESS\nWe make rockets and sell them to those who need them.",
        "ITEM 1. BUSINESS\nCONSOLIDATED BALANCE SHEET\n(In thousands)\n | 1998 | 1997\n"
        "Cash and equivalents | $1,234 | $987\nReceivables |  | 321\nof which from | (456) | \n"
        "Total assets | $778 | $1,308",
    ]


@pytest.mark.conformance
def test_ten_balance_sheets_read_again_from_their_passages(shared_data: Path) -> None:
    """Title, unit, the columns' dates and total assets, against the facts of the filing."""
    from fiqkit.filings.kinds import content

    tenks, tenqs = ("AAPL", "KHC", "PG", "RTX", "TSLA", "V"), ("AXP", "CSCO", "GM", "NVDA")
    names = [*(f"{ticker}_10-K" for ticker in tenks), *(f"{ticker}_10-Q" for ticker in tenqs)]
    for name in names:
        (path, *_) = sorted((shared_data / "sec/filings").glob(f"{name}_*"))
        reading = Reading()
        read_filing(content(path), path, reading)
        assets = {f.end: f.value for f in reading.facts if f.concept == "us-gaap:Assets" and f.dims == "{}"}
        found = []
        for text in (passage.text for passage in reading.passages):
            line = re.search(r"^total assets \|.*$", text, re.IGNORECASE | re.MULTILINE)
            unit = re.search(r"\b(millions|thousands)\b", text, re.IGNORECASE)
            if line and unit and re.search(r"balance sheet|financial position", text, re.IGNORECASE):
                scale = {"millions": 10**6, "thousands": 10**3}[unit[1].lower()]
                figures = [int(re.sub(r"\D", "", cell)) * scale for cell in line[0].split(" | ")[1:] if cell]
                head = " ".join(text[: line.start()].split("\n"))
                years = sorted(map(int, set(re.findall(r"\b20\d\d\b", head))), reverse=True)
                found.append((figures, years))
        expected = [assets[end] for end in sorted(assets, reverse=True)[:2]]
        assert any(figures == expected for figures, _ in found), (name, found, expected)


@pytest.mark.conformance
@pytest.mark.parametrize("share", range(4))
def test_every_table_of_the_published_filings_is_rectangular(share: int, shared_data: Path) -> None:
    from fiqkit.filings.kinds import content

    tables = 0
    for path in sorted((shared_data / "sec/filings").iterdir())[share::12]:
        reading = Reading()
        read_filing(content(path), path, reading)
        for passage in reading.passages:
            widths = {line.count(" | ") for line in passage.text.split("\n") if " | " in line}
            assert len(widths) <= 1, (path.name, passage.text)
            tables += len(widths)
    assert tables > 200
