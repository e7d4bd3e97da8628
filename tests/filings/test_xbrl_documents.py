"""Inline XBRL and instance documents: the value, the period and the dimensions of every kind of fact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import COVER, FILING, INSTANCE, RESOURCES, context, inline, number

from fiqkit.errors import UserError
from fiqkit.filings.documents import read_filing
from fiqkit.filings.fact import Fact, Reading, agree, finest, precision
from fiqkit.filings.ingest import ingest

PATH = Path("acme_10-K_0000012345-24-000001.html")


def read(data: bytes, path: Path = PATH) -> Reading:
    reading = Reading()
    read_filing(data, path, reading)
    return reading


def facts(body: str, resources: str = RESOURCES) -> list[Fact]:
    return read(inline(body, resources)).facts


def test_a_fact_carries_its_filing() -> None:
    fact = read(FILING).facts[0]
    assert fact == Fact(
        entity="12345",
        name="Acme Rockets Inc.",
        concept="us-gaap:Revenues",
        value=1234000000,
        unit="USD",
        decimals="-6",
        start="2023-01-01",
        end="2023-12-31",
        dims="{}",
        form="10-K",
        accession="0000012345-24-000001",
        filed=None,
        source="inline",
    )


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (number("a:B", "1,234"), 1234000000),
        (number("a:B", "56", sign="-"), -56000000),
        (number("a:B", "—", format="ixt:fixed-zero"), 0),
        (number("a:B", "12.5", scale="-2", decimals="3", unit="pure"), 0.125),
        (number("a:B", "0.1", scale="", decimals="1"), 0.1),
        (number("a:B", "4.35", scale="2", decimals="0"), 435),
        (number("a:B", "1024", format="", scale="0"), 1024),
        (number("a:B", "1.5", " y ", " usd ", format="", scale="0"), 1.5),
        (number("a:B", "three", format="ixt-sec:numwordsen", scale="0", decimals="INF"), 3),
        (number("a:B", "<span>1,</span><b>234</b>", scale="0"), 1234),
        (number("a:B", "1,2<ix:exclude>(3)</ix:exclude>34", scale="0"), 1234),
        (number("a:B", "1,234<!-- 5 -->", scale="0"), 1234),
        (number("a:B", "9223372036854775807", scale="1"), 9.223372036854775807e19),
    ],
)
def test_values(body: str, value: float) -> None:
    found = facts(body)[0].value
    assert found == value and type(found) is type(value)


def test_nested_facts_are_both_read() -> None:
    inner = number("a:Inner", "7", "i", scale="3", decimals="-3")
    assert [(f.concept, f.value) for f in facts(number("a:Outer", inner, scale="6"))] == [
        ("a:Outer", 7000000),
        ("a:Inner", 7000),
    ]


def test_a_fraction_is_its_quotient() -> None:
    body = (
        '<ix:fraction name="a:B" contextRef="y" unitRef="pure"><ix:numerator>1</ix:numerator> of '
        "<ix:denominator>8</ix:denominator></ix:fraction>"
    )
    assert facts(body)[0].value == 0.125


def test_dimensions_are_sorted_and_typed_members_marked() -> None:
    fact = facts(number("a:B", "1", "t"))[0]
    assert fact.dims == json.dumps(
        {"acme:LotAxis": "typed:Lot 7", "us-gaap:StatementClassOfStockAxis": "us-gaap:CommonClassAMember"}
    )
    assert (fact.start, fact.end) == (None, "2023-12-31")


def test_unit_per_share() -> None:
    assert facts(number("a:B", "1.25", unit="eps", scale="0", decimals="2"))[0].unit == "USD/shares"


def test_of_duplicates_the_finest_is_kept_and_counted() -> None:
    body = number("a:B", "1.2", scale="9", decimals="-8") + number("a:B", "1,234") + number("a:B", "1,234")
    assert [(f.value, f.decimals, f.copies) for f in facts(body)] == [(1234000000, "-6", 3)]


def test_contradicting_duplicates_are_all_kept_with_a_remark() -> None:
    reading = read(inline(number("a:B", "1,234") + number("a:B", "1,236")))
    assert [f.value for f in reading.facts] == [1234000000, 1236000000]
    assert sum(reading.remarks.values()) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<ix:nonFraction name="a:B" contextRef="y" unitRef="usd" xsi:nil="true"/>', "nil"),
        (number("a:B", "1", target="other"), "target"),
        (number("a:B", "1", tupleRef="t1"), "tuple"),
        ('<ix:tuple name="a:T" tupleID="t1"></ix:tuple>', "tuple"),
        (number("a:B", "1", "nowhere"), "context"),
        (number("a:B", "1", unit="nothing"), "unit"),
        (number("a:B", "1", format="ixt:imaginary"), "imaginary"),
        (number("a:B", "one or two"), "numeral"),
        (number("a:B", "1,024", format=""), "numeral"),
        (number("a:B", "(500)", format=""), "numeral"),
        (number("a:B", "1", scale="999999999"), "scale"),
    ],
)
def test_what_cannot_be_a_fact_is_counted_with_its_reason(body: str, reason: str) -> None:
    reading = read(inline(number("a:Good", "1") + body))
    assert [f.concept for f in reading.facts] == ["a:Good"]
    assert len(reading.left_out) == 1 and reason in next(iter(reading.left_out))


def test_text_is_continued_and_transformed() -> None:
    body = (
        '<ix:nonNumeric name="a:Term" contextRef="y" format="ixt-sec:durwordsen">two years</ix:nonNumeric>'
        '<ix:nonNumeric name="a:Note" contextRef="y" escape="true" continuedAt="c1"><p>First</p><p>part,</p>'
        '</ix:nonNumeric><p>between</p><ix:continuation id="c1" continuedAt="c2"><p>second part</p></ix:continuation>'
        '<ix:continuation id="c2" continuedAt="c1">and third.</ix:continuation>'
    )
    texts = {t.concept: t.value for t in read(inline(body)).texts}
    assert texts["a:Term"] == "P2Y"
    assert texts["a:Note"] == "First part,\nsecond part\nand third."
    assert texts["dei:DocumentPeriodEndDate"] == "2023-12-31"


def test_a_context_that_lasts_forever_or_has_an_impossible_date_is_refused() -> None:
    broken = context("z", "2023-02-30").replace("0000012345", "1") + RESOURCES
    reading = read(inline(number("a:B", "1", "z") + number("a:Good", "1"), broken))
    assert [f.concept for f in reading.facts] == ["a:Good"]
    assert any("context refused" in reason for reason in reading.left_out)


def test_a_submission_of_several_documents_shares_its_contexts() -> None:
    main, exhibit = inline("<p>See exhibit 13.</p>"), inline(number("us-gaap:Revenues", "5"), resources="")
    header = (
        b"<SEC-DOCUMENT>x\nACCESSION NUMBER:\t\t0000012345-24-000009\nCONFORMED SUBMISSION TYPE:\t10-K\n"
        b"FILED AS OF DATE:\t\t20240203\nCOMPANY CONFORMED NAME:\t\tACME\nCENTRAL INDEX KEY:\t\t0000012345\n"
    )
    wrapped = b"".join(
        b"<DOCUMENT>\n<TYPE>%s\n<TEXT>\n<XBRL>\n%s\n</XBRL>\n</TEXT>\n</DOCUMENT>\n" % (kind, body)
        for kind, body in ((b"10-K", main), (b"EX-13", exhibit))
    )
    fact = read(header + wrapped, Path("submission.txt")).facts[0]
    passages = read(header + wrapped, Path("submission.txt")).passages
    assert [p.passage_id[:-13] for p in passages] == [f"0000012345-24-000009:submission:000{n}" for n in (1, 2)]
    assert (fact.value, fact.accession, fact.filed, fact.form) == (
        5000000,
        "0000012345-24-000009",
        "2024-02-03",
        "10-K",
    )


def test_named_characters_of_html_do_not_damage_a_document() -> None:
    assert facts("<p>A&nbsp;&mdash;&amp;</p>" + number("a:B", "1&nbsp;234"))[0].value == 1234000000


def test_utf8_under_another_declaration_is_read_and_a_stray_byte_is_not() -> None:
    body = number("a:B", "—", format="ixt:fixed-zero") + "<p>Café</p>"
    declared = inline(body).replace(b"encoding='UTF-8'", b"encoding='ASCII'")
    reading = read(declared)
    assert (reading.facts[0].value, reading.passages[-1].text[-4:]) == (0, "Café")
    with pytest.raises(UserError, match="damaged XML"):
        read(declared.replace("é".encode(), b"\xe9"))


def test_instance_document() -> None:
    reading = read(INSTANCE, Path("acme-20231231.xml"))
    assert [(f.concept, f.value, f.unit, f.decimals, f.name) for f in reading.facts] == [
        ("us-gaap:Revenues", 1234000000, "USD", "-6", "Acme Rockets Inc."),
        ("us-gaap:EarningsPerShareBasic", -0.125, "USD/shares", "3", "Acme Rockets Inc."),
    ]
    assert {t.concept: t.value for t in reading.texts}["us-gaap:PolicyTextBlock"] == "We sell rockets."
    assert reading.left_out == {"nil": 1}


def test_plain_html_gives_passages_only() -> None:
    reading = read(b"<HTML><BODY><P>Item 1. Business<P>We sell rockets&nbsp;here.</BODY></HTML>", Path("old.htm"))
    assert not reading.facts
    assert [p.text for p in reading.passages] == ["Item 1. Business\nWe sell rockets here."]


@pytest.mark.parametrize("data", [FILING[:-20], FILING.replace(b"</table>", b"", 1), INSTANCE[:400], b"plain words"])
def test_a_damaged_document_is_one_line_with_file_and_line(data: bytes) -> None:
    with pytest.raises(UserError, match=r"^acme_10-K_0000012345-24-000001.html:\d+: .+; \w+") as error:
        read(data)
    assert "\n" not in str(error.value)


def test_passages_have_section_table_and_provenance() -> None:
    passages = read(FILING).passages
    assert [p.text for p in passages] == [
        "Item 7. Management's discussion\nSales grew in both segments.",
        "Item 7. Management's discussion\nSales grew in both segments.\nIn millions | 2023 | 2022\n"
        "Revenue | 1,234 | 1,100\nNet loss | (56) | —",
        "Item 7. Management's discussion\nRockets sold for 1.2 billion.",
    ]
    first = passages[0]
    assert (first.company, first.ticker, first.form, first.period) == (
        "Acme Rockets Inc.",
        "ACME",
        "10-K",
        "2023-12-31",
    )
    assert len({p.passage_id for p in passages}) == 3


def test_files_of_one_name_and_one_text_keep_ids_of_their_own() -> None:
    """A folder a company, and in each a filing that begins with the same words."""
    page = "<html><body><p>We make things.</p><p>{}</p></body></html>"
    ids = [
        p.passage_id
        for place in ("AAA", "BBB")
        for p in read(page.format(place).encode(), Path(place) / "10-K_2024.htm").passages
    ]
    assert len(set(ids)) == len(ids) and all(i.startswith("10-K_2024:0001:") for i in ids)


def test_documents_of_one_filing_as_files_of_their_own_keep_ids_of_their_own() -> None:
    folder = Path("0000012345-24-000009")
    found = [
        read(FILING, folder / "main.htm"),
        read(FILING.replace(b"1.2 billion", b"1.3 billion"), folder / "ex99.htm"),
    ]
    ids = [passage.passage_id for reading in found for passage in reading.passages]
    assert len(set(ids)) == len(ids) == 6
    assert ids[0].startswith("0000012345-24-000009:main:0001:")


def test_an_id_stays_while_its_document_does() -> None:
    first, again = (read(FILING, folder / PATH.name).passages for folder in (Path("a"), Path("b")))
    assert first == again


def submission(*documents: tuple[str, str, bytes]) -> bytes:
    header = b"<SEC-DOCUMENT>x\nACCESSION NUMBER:\t\t0000012345-24-000009\nCONFORMED SUBMISSION TYPE:\tNT 10-K\n"
    return header + b"".join(
        b"<DOCUMENT>\n<TYPE>%s\n<FILENAME>%s\n<TEXT>\n%s\n</TEXT>\n</DOCUMENT>\n" % (kind.encode(), name.encode(), body)
        for kind, name, body in documents
    )


def test_exhibits_without_xbrl_stand_beside_an_inline_document_and_rendered_pages_do_not() -> None:
    page = b"<html><body><p>%s</p></body></html>"
    reading = read(
        submission(
            ("8-K", "a.htm", inline("<p>See the exhibit.</p>" + number("us-gaap:Revenues", "5"))),
            ("EX-99.1", "b.htm", page % b"Sales rose."),
            ("EX-99.2", "c.txt", b"Plain words.\n\nAnd more."),
            ("XML", "R2.htm", page % b"Rendered."),
            ("GRAPHIC", "d.jpg", b"begin 644 d.jpg\nM5$"),
            ("EX-101.SCH", "e.xsd", b"<xs:schema xmlns:xs='x'/>"),
        ),
        Path("s.txt"),
    )
    assert [p.text for p in reading.passages] == ["See the exhibit.\n5", "Sales rose.", "Plain words.\nAnd more."]
    assert {p.form for p in reading.passages} == {"10-K"}  # as the cover says; the header would say NT 10-K
    assert len(reading.facts) == 1


def test_two_sets_in_one_submission_keep_their_contexts_apart() -> None:
    other = RESOURCES.replace("2023-01-01", "2020-01-01").replace("2023-12-31", "2020-12-31")
    main, fees = inline(number("us-gaap:Revenues", "5")), inline(number("acme:Fee", "7"), other)
    reading = read(submission(("S-3", "a.htm", main), ("EX-FILING FEES", "f.htm", fees)), Path("s.txt"))
    assert [(f.concept, f.end) for f in reading.facts] == [
        ("us-gaap:Revenues", "2023-12-31"),
        ("acme:Fee", "2020-12-31"),
    ]


def test_a_set_over_several_files_of_a_folder_is_read_together(tmp_path: Path) -> None:
    folder = tmp_path / "000001234524000009"
    folder.mkdir()
    exhibit = inline(number("us-gaap:Revenues", "5"), resources="").replace(COVER.encode(), b"")
    (folder / "ex13.htm").write_bytes(exhibit)
    with pytest.raises(UserError, match=r"ex13.htm:1: one document of several.*give the full submission"):
        read(exhibit, folder / "ex13.htm")
    (folder / "main.htm").write_bytes(inline("<p>See exhibit 13.</p>"))
    (folder / "damaged.htm").write_bytes(inline("")[:-20])
    reading = read(exhibit, folder / "ex13.htm")
    assert [(f.value, f.end, f.accession, f.name) for f in reading.facts] == [
        (5000000, "2023-12-31", "0000012345-24-000009", "Acme Rockets Inc.")
    ]


def test_a_page_saved_by_a_browser_is_named_as_such() -> None:
    data = inline("<p>x</p>").replace(b"<html", b"<!-- saved from url=(0036)https://x --><html", 1)
    with pytest.raises(UserError, match=r":\d+: saved by a browser"):
        read(data.replace(b"</p>", b""))


def test_utf16() -> None:
    data = INSTANCE.decode().replace('encoding="UTF-8"', 'encoding="UTF-16"').encode("utf-16")
    assert [f.value for f in read(data, Path("x.xml")).facts] == [f.value for f in read(INSTANCE, Path("x.xml")).facts]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.xsd", b'<?xml version="1.0"?><xsd:schema xmlns:xsd="x"/>'),
        ("a_cal.xml", b'<?xml version="1.0"?><!-- c --><link:linkbase xmlns:link="x"/>'),
        ("FilingSummary.xml", b"<?xml version='1.0'?><FilingSummary/>"),
        ("R12.htm", b"<html><body><p>rendered</p></body></html>"),
        ("0000012345-24-000009-index.htm", b"<html><body><p>list</p></body></html>"),
        ("MetaLinks.json", b'{"instance": {}}'),
    ],
)
def test_what_stands_beside_a_filing_is_skipped(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(data)
    summary = ingest([tmp_path / "in"], tmp_path / "facts.db")
    assert summary.faults == [] and len(summary.skipped) == 1


def test_an_instance_that_the_sec_extracted_is_skipped_beside_its_document(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a-20231231.htm").write_bytes(FILING)
    (tmp_path / "in/a-20231231_htm.xml").write_bytes(INSTANCE)
    summary = ingest([tmp_path / "in"], tmp_path / "facts.db")
    assert (summary.faults, summary.read) == ([], {"filing": 1})


@pytest.mark.parametrize(
    ("period", "start", "end"),
    [
        ("2024-01-01/2024-12-31", "2024-01-01", "2024-12-31"),
        ("2024-01-01T00:00:00/2024-12-31T23:59:59", "2024-01-01", "2024-12-31"),
        ("2024-01-01T00:00:00/2025-01-01T00:00:00", "2024-01-01", "2024-12-31"),
        ("2025-01-01T00:00:00Z", None, "2024-12-31"),
        ("2024-12-31T12:00:00", None, "2024-12-31"),
        (" 2024-12-31 ", None, "2024-12-31"),
    ],
)
def test_ends_with_a_time(period: str, start: str | None, end: str) -> None:
    """Midnight at a day's beginning closes the day before."""
    (fact,) = facts(number("a:B", "1", "z"), context("z", period) + RESOURCES)
    assert (fact.start, fact.end) == (start, end)


def test_the_namespace_decides_and_not_the_prefix() -> None:
    """In concepts, axes, members and the cover page, of every standard taxonomy; a filer's own keeps its prefix."""
    instance = (
        INSTANCE.replace(b"us-gaap:", b"g:")
        .replace(b"xmlns:us-gaap=", b"xmlns:g=")
        .replace(b"dei:", b"d:")
        .replace(b"xmlns:dei=", b"xmlns:d=")
    )
    kept, renamed = read(INSTANCE, Path("x.xml")), read(instance, Path("x.xml"))
    assert renamed.facts == kept.facts and renamed.texts == kept.texts and renamed.facts[0].name == "Acme Rockets Inc."
    other = inline(number("g:Revenues", "1") + number("i:Revenue", "2") + number("us-gaap:X", "3")).replace(
        b'xmlns:us-gaap="http://fasb.org/us-gaap/2024"',
        b'xmlns:us-gaap="http://own.example" xmlns:g="http://fasb.org/us-gaap/2025" '
        b'xmlns:i="https://xbrl.ifrs.org/taxonomy/2024-03-27/ifrs-full"',
    )
    assert [f.concept for f in read(other).facts] == ["us-gaap:Revenues", "ifrs-full:Revenue", "own-us-gaap:X"]


def test_dimensions_by_their_namespace() -> None:
    body = number("acme:B", "1", "s")
    renamed = inline(body).replace(b"us-gaap:Statement", b"g:Statement").replace(b"xmlns:us-gaap=", b"xmlns:g=")
    assert read(renamed).facts[0].dims == read(inline(body)).facts[0].dims


stated = st.tuples(st.integers(-3000, 3000), st.sampled_from([None, "0", "-1", "-2", "INF"]))


@given(st.lists(stated, max_size=25))
def test_duplicates_as_by_comparing_each_with_each(values: list[tuple[int, str | None]]) -> None:
    base = read(FILING).facts[0]
    given_facts = [base._replace(value=value, decimals=decimals) for value, decimals in values]
    rows: list[Fact] = []
    for fact in given_facts:
        place = next((n for n, row in enumerate(rows) if agree(row, fact)), None)
        if place is None:
            rows.append(fact)
        else:
            finer = max((rows[place], fact), key=lambda f: precision(f.decimals))
            rows[place] = finer._replace(copies=rows[place].copies + 1)
    assert finest(given_facts)[0] == rows


def test_twenty_thousand_values_of_one_fact() -> None:
    base = read(FILING).facts[0]
    kept, contradictions = finest(base._replace(value=n * 7919 % 20011, decimals="INF") for n in range(20000))
    assert (len(kept), contradictions) == (20000, 19999)
