"""Small files of every kind that the readers know, made from the layouts as they are publicly documented."""

from __future__ import annotations

import gzip
import io
import json
import zipfile

_NAMESPACES = (
    'xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" '
    'xmlns:xbrli="http://www.xbrl.org/2003/instance" xmlns:xbrldi="http://xbrl.org/2006/xbrldi" '
    'xmlns:ixt="http://www.xbrl.org/inlineXBRL/transformation/2020-02-12" '
    'xmlns:ixt-sec="http://www.sec.gov/inlineXBRL/transformation/2015-08-31" '
    'xmlns:iso4217="http://www.xbrl.org/2003/iso4217" xmlns:us-gaap="http://fasb.org/us-gaap/2024" '
    'xmlns:dei="http://xbrl.sec.gov/dei/2024" xmlns:acme="http://acme.example/2024" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:link="http://www.xbrl.org/2003/linkbase"'
)


def context(key: str, period: str, dims: str = "") -> str:
    """A context; `period` is an instant or START/END."""
    start, _, end = period.partition("/")
    span = f"<xbrli:startDate>{start}</xbrli:startDate><xbrli:endDate>{end}</xbrli:endDate>"
    inner = span if end else f"<xbrli:instant>{start}</xbrli:instant>"
    segment = f"<xbrli:segment>{dims}</xbrli:segment>" if dims else ""
    return (
        f'<xbrli:context id="{key}"><xbrli:entity><xbrli:identifier scheme="http://www.sec.gov/CIK">0000012345'
        f"</xbrli:identifier>{segment}</xbrli:entity><xbrli:period>{inner}</xbrli:period></xbrli:context>"
    )


def member(axis: str, name: str) -> str:
    """An explicit member."""
    return f'<xbrldi:explicitMember dimension="{axis}">{name}</xbrldi:explicitMember>'


RESOURCES = (
    context("y", "2023-01-01/2023-12-31")
    + context("y0", "2022-01-01/2022-12-31")
    + context("i", "2023-12-31")
    + context("i0", "2022-12-31")
    + context("s", "2023-01-01/2023-12-31", member("us-gaap:StatementBusinessSegmentsAxis", "acme:RocketsMember"))
    + context(
        "t",
        "2023-12-31",
        '<xbrldi:typedMember dimension="acme:LotAxis"><acme:lot>Lot 7</acme:lot></xbrldi:typedMember>'
        + member("us-gaap:StatementClassOfStockAxis", "us-gaap:CommonClassAMember"),
    )
    + '<xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>'
    '<xbrli:unit id="shares"><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unit>'
    '<xbrli:unit id="pure"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit>'
    '<xbrli:unit id="eps"><xbrli:divide><xbrli:unitNumerator><xbrli:measure>iso4217:USD</xbrli:measure>'
    "</xbrli:unitNumerator><xbrli:unitDenominator><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unitDenominator>"
    "</xbrli:divide></xbrli:unit>"
)

COVER = (
    '<ix:nonNumeric name="dei:DocumentType" contextRef="y">10-K</ix:nonNumeric>'
    '<ix:nonNumeric name="dei:EntityRegistrantName" contextRef="y">Acme Rockets Inc.</ix:nonNumeric>'
    '<ix:nonNumeric name="dei:TradingSymbol" contextRef="y">ACME</ix:nonNumeric>'
    '<ix:nonNumeric name="dei:DocumentPeriodEndDate" contextRef="y" format="ixt:date-monthname-day-year-en">'
    "December 31, 2023</ix:nonNumeric>"
)


def number(name: str, text: str, ref: str = "y", unit: str = "usd", **attributes: str) -> str:
    """A nonFraction element; `attributes` override decimals, scale, format, sign."""
    given = {"decimals": "-6", "scale": "6", "format": "ixt:num-dot-decimal", **attributes}
    written = "".join(f' {key}="{value}"' for key, value in given.items() if value)
    return f'<ix:nonFraction name="{name}" contextRef="{ref}" unitRef="{unit}"{written}>{text}</ix:nonFraction>'


def inline(body: str, resources: str = RESOURCES) -> bytes:
    """An inline XBRL document around a body."""
    return (
        f"<?xml version='1.0' encoding='UTF-8'?><html {_NAMESPACES}><head><title>acme</title></head><body>"
        f'<div style="display:none"><ix:header><ix:hidden>{COVER}</ix:hidden><ix:references/>'
        f"<ix:resources>{resources}</ix:resources></ix:header></div>{body}</body></html>"
    ).encode()


FILING = inline(
    "<p>Item 7. Management's discussion</p><p>Sales grew in both segments.</p><table>"
    "<tr><td>In millions</td><td>2023</td><td>2022</td></tr>"
    f"<tr><td>Revenue</td><td>{number('us-gaap:Revenues', '1,234')}</td>"
    f"<td>{number('us-gaap:Revenues', '1,100', 'y0')}</td></tr>"
    f"<tr><td>Net loss</td><td>({number('us-gaap:NetIncomeLoss', '56', sign='-')})</td>"
    f"<td>{number('us-gaap:NetIncomeLoss', '—', 'y0', format='ixt:fixed-zero')}</td></tr></table>"
    f"<p>Rockets sold for {number('us-gaap:Revenues', '1.2', 's', scale='9', decimals='-8')} billion.</p>"
)

INSTANCE = (
    f"<?xml version='1.0'?><xbrli:xbrl {_NAMESPACES}>{RESOURCES}"
    '<dei:DocumentType contextRef="y">10-K</dei:DocumentType>'
    '<dei:EntityRegistrantName contextRef="y">Acme Rockets Inc.</dei:EntityRegistrantName>'
    '<us-gaap:Revenues contextRef="y" unitRef="usd" decimals="-6">1234000000</us-gaap:Revenues>'
    '<us-gaap:EarningsPerShareBasic contextRef="y" unitRef="eps" precision="3">-0.125</us-gaap:EarningsPerShareBasic>'
    '<us-gaap:Assets contextRef="i" unitRef="usd" decimals="-3" xsi:nil="true"/>'
    '<us-gaap:PolicyTextBlock contextRef="y">&lt;p&gt;We &lt;b&gt;sell&lt;/b&gt;&lt;/p&gt;&lt;p&gt;rockets.&lt;/p&gt;'
    "</us-gaap:PolicyTextBlock></xbrli:xbrl>"
).encode()


def companyfacts(cik: int = 12345, concepts: int = 2) -> bytes:
    """A companyfacts file whose `fy` is, as so often, that of the filing that repeats the fact."""
    rows = [
        {"start": "2022-01-01", "end": "2022-12-31", "val": 1100000000, "accn": "0000012345-23-000001", "fy": 2022}
        | {"fp": "FY", "form": "10-K", "filed": "2023-02-01"},
        {"start": "2022-01-01", "end": "2022-12-31", "val": 1090000000, "accn": "0000012345-24-000001", "fy": 2023}
        | {"fp": "FY", "form": "10-K", "filed": "2024-02-01"},
        {"start": "2023-01-01", "end": "2023-12-31", "val": 1234000000, "accn": "0000012345-24-000001", "fy": 2023}
        | {"fp": "FY", "form": "10-K", "filed": "2024-02-01", "frame": "CY2023"},
    ]
    names = {f"Concept{n}": {"label": f"Concept {n}", "units": {"USD": rows}} for n in range(concepts - 1)}
    gaap = {"Revenues": {"label": "Revenues", "description": "…", "units": {"USD": rows}}, **names}
    shares = {"label": "Shares", "units": {"shares": [{**rows[0], "start": None, "end": "2023-01-20", "val": 5}]}}
    facts = {"dei": {"EntityCommonStockSharesOutstanding": shares}, "us-gaap": gaap}
    return json.dumps({"cik": cik, "entityName": "Acme Rockets Inc.", "facts": facts}).encode()


def bulk(members: int = 3) -> bytes:
    """A bulk zip of companyfacts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(1, members + 1):
            archive.writestr(f"CIK{n:010d}.json", companyfacts(n))
    return out.getvalue()


_SUB = (
    "adsh\tcik\tname\tsic\tform\tperiod\tfiled\n"
    + "0000012345-24-000001\t12345\tACME ROCKETS\t3760\t10-K\t20231231\t20240201\n"
)
_NUM = (
    "adsh\ttag\tversion\tddate\tqtrs\tuom\tsegments\tcoreg\tvalue\tfootnote\n"
    "0000012345-24-000001\tRevenues\tus-gaap/2023\t20231231\t4\tUSD\t\t\t1234000000.0000\t\n"
    "0000012345-24-000001\tRevenues\tus-gaap/2023\t20231231\t1\tUSD\tBusinessSegments=Rockets;\tAcmeSub\t300000000.5\t\n"
    "0000012345-24-000001\tAssets\tus-gaap/2023\t20231231\t0\tUSD\t\t\t99.0000\t\n"
    "0000012345-24-000001\tRocketsSold\t0000012345-24-000001\t20231231\t4\tpure\t\t\t7.0000\t\n"
    "0000012345-24-000001\tLiabilities\tus-gaap/2023\t20231231\t0\tUSD\t\t\t\t\n"
    "0000099999-24-000001\tAssets\tus-gaap/2023\t20231231\t0\tUSD\t\t\t1.0000\t\n"
)
_TAG = (
    "tag\tversion\tcustom\ttlabel\nRevenues\tus-gaap/2023\t0\tRevenues\nRocketsSold\t0000012345-24-000001\t1\tRockets\n"
)


def fsds(num: str = _NUM) -> bytes:
    """A Financial Statement Data Set."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, table in (("sub", _SUB), ("num", num), ("tag", _TAG), ("pre", "adsh\treport\n")):
            archive.writestr(f"{name}.txt", table)
    return out.getvalue()


EXPORT = (
    "报告期,净利润,扣非净利润,营业总收入同比增长率,基本每股收益,资产负债率,存货周转天数\n"
    "2024-12-31,862.28亿,-1.5万,15.71%,68.6400,19.04%,1315.31\n2023-12-31,747.34亿,False,--,59.49,17.98%,1200\n"
).encode()
EXPRESS = (
    "序号,股票代码,股票简称,每股收益,营业收入-营业收入,营业收入-去年同期,营业收入-同比增长,净利润-净利润,所处行业,公告日期\n"
    "1,538,云南白药,2.66,40033000000,39111000000,2.36,4749000000,中药,2025-02-28\n"
).encode("gb18030")
QUESTIONS = json.dumps(
    [
        {
            "table": {"uid": "u1", "table": [["", "2019", "2018"], ["Total sales", "$1,496.5", "$1,202.9"]]},
            "paragraphs": [{"uid": "p", "order": 1, "text": "Sales by contract type."}],
            "questions": [{"question": "What were total sales in 2019?", "answer": ["$1,496.5"], "scale": "million"}],
        }
    ]
).encode()

# One valid file a kind: name → bytes.
KINDS: dict[str, bytes] = {
    "acme_10-K_0000012345-24-000001.html": FILING,
    "acme.html.gz": gzip.compress(FILING, mtime=0),
    "acme-20231231.xml": INSTANCE,
    "CIK0000012345.json": companyfacts(),
    "companyfacts.zip": bulk(),
    "2023q4.zip": fsds(),
    "indicators_600519.csv": EXPORT,
    "express_20241231.csv": EXPRESS,
    "tatqa.json": QUESTIONS,
}
