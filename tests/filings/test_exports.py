"""Chinese export tables and question sets."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import EXPORT, EXPRESS, QUESTIONS

from fiqkit.errors import UserError
from fiqkit.filings import cells
from fiqkit.filings.exports import NotOurs, read_export
from fiqkit.filings.fact import Reading
from fiqkit.filings.questions import read_questions


def read(data: bytes | str, name: str = "table.csv", entity: str | None = None, company: str | None = None) -> Reading:
    reading = Reading()
    read_export(data.encode() if isinstance(data, str) else data, Path(name), entity, company, reading)
    return reading


@pytest.mark.parametrize(
    ("text", "value", "decimals"),
    [
        ("862.28亿", 86228000000, "-6"),
        ("1.2万亿", 1200000000000, "-11"),
        ("-1.5万", -15000, "-3"),
        ("−1.5万", -15000, "-3"),
        ("(1,234.50)", Decimal("-1234.50"), "2"),
        ("15.71%", Decimal("0.1571"), "4"),
        ("-4.5％", Decimal("-0.045"), "3"),
        ("3亿元", 300000000, "-8"),
        ("1.5E+9", 1500000000, "-8"),
        ("0", 0, "0"),
    ],
)
def test_cells(text: str, value: Decimal, decimals: str) -> None:
    cell = cells.parse(text)
    assert cell is not None
    assert (cell.value, cell.decimals) == (value, decimals)


@pytest.mark.parametrize("text", ["", "--", "False", "nan", "—", "不适用"])
def test_missing_cells(text: str) -> None:
    assert cells.parse(text) is None


@pytest.mark.parametrize("text", ["中药", "1.2.3", "(5", "5)", "亿", "12 apples", "1亿万"])
def test_cells_of_text_are_not_numbers(text: str) -> None:
    with pytest.raises(ValueError):
        cells.parse(text)


@given(st.decimals(-(10**9), 10**9, places=2, allow_nan=False), st.sampled_from([("万", 4), ("亿", 8), ("万亿", 12)]))
def test_scales_multiply(number: Decimal, scale: tuple[str, int]) -> None:
    cell = cells.parse(f"{number:,}{scale[0]}")
    assert cell is not None and cell.value == number * 10 ** scale[1]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2024-12-31", "2024-12-31"),
        ("20240930", "2024-09-30"),
        ("2024/6/30", "2024-06-30"),
        ("2024-12-31 00:00:00", "2024-12-31"),
        ("2024年中报", "2024-06-30"),
        ("2024三季报", "2024-09-30"),
        ("2024年一季度", "2024-03-31"),
        ("2024年度", "2024-12-31"),
        ("2024", "2024-12-31"),
        ("2024Q2", "2024-06-30"),
        ("2024-12", "2024-12-31"),
        ("202406", "2024-06-30"),
        ("202411", "2024-11-30"),
        ("2024年6月", "2024-06-30"),
        ("2024年年度报告", "2024-12-31"),
        ("2024年半年度报告", "2024-06-30"),
        ("2024年第一季度报告", "2024-03-31"),
        ("2024年第三季度报告", "2024-09-30"),
        ("2024年前三季度", "2024-09-30"),
        ("2024年1-9月", "2024-09-30"),
        ("2024Q1累计", "2024-03-31"),
        ("20241231.0", "2024-12-31"),
        ("2024-4", None),  # April, or the fourth quarter
        ("2024下半年", None),
        ("202413", None),
        ("12/31/2024", None),
        ("2024-13-01", None),
        ("净利润", None),
    ],
)
def test_period_ends(text: str, end: str | None) -> None:
    assert (period.end if (period := cells.period(text)) else None) == end


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("2024三季度", "2024-07-01"),
        ("2024年第二季度", "2024-04-01"),
        ("2024年10-12月", "2024-10-01"),
        ("2024三季报", None),
        ("2024年第三季度报告", None),
        ("2024年1-9月", None),
        ("2024年一季度", None),
    ],
)
def test_a_single_quarter_has_a_start_of_its_own(text: str, start: str | None) -> None:
    period = cells.period(text)
    assert period is not None and period.start == start


@given(st.dates(date(1990, 1, 1), date(2099, 12, 31)))
def test_every_way_to_write_a_day_is_that_day(day: date) -> None:
    for pattern in ("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%Y-%m-%d 00:00:00", "%Y年%m月%d日"):
        assert cells.period(day.strftime(pattern)) == cells.Period(day.isoformat())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("538", "000538"),
        ("SH600519", "600519"),
        ("000538.SZ", "000538"),
        ("538.0", "000538"),
        ("00700", "00700"),
        ("700.HK", "00700"),
        ("HK00700", "00700"),
        ("AAPL", None),
    ],
)
def test_stock_codes_regain_their_zeros(text: str, code: str | None) -> None:
    assert cells.stock_code(text) == code


def test_indicators() -> None:
    reading = read(EXPORT, "indicators_600519.csv")
    found = {(f.concept, f.end): f for f in reading.facts}
    profit = found["净利润", "2024-12-31"]
    assert (profit.entity, profit.value, profit.unit, profit.decimals) == ("600519", 86228000000, "CNY", "-6")
    assert (profit.start, profit.source) == ("2024-01-01", "export")
    assert found["营业总收入同比增长率", "2024-12-31"].value == 0.1571
    assert found["基本每股收益", "2024-12-31"].unit == "CNY/shares"
    assert found["资产负债率", "2024-12-31"].start is None
    assert found["存货周转天数", "2024-12-31"].unit == "D"
    assert ("扣非净利润", "2023-12-31") not in found and ("营业总收入同比增长率", "2023-12-31") not in found


def test_express_report_in_gbk_with_a_code_that_lost_its_zeros() -> None:
    reading = read(EXPRESS, "express_20241231.csv")
    found = {(f.concept, f.end): (f.value, f.unit) for f in reading.facts}
    assert found == {
        ("每股收益", "2024-12-31"): (2.66, "CNY/shares"),
        ("营业收入", "2024-12-31"): (40033000000, "CNY"),
        ("营业收入", "2023-12-31"): (39111000000, "CNY"),
        ("营业收入同比增长", "2024-12-31"): (0.0236, "pure"),
        ("净利润", "2024-12-31"): (4749000000, "CNY"),
    }
    assert {(f.entity, f.name, f.filed) for f in reading.facts} == {("000538", "云南白药", "2025-02-28")}
    assert [(t.concept, t.value) for t in reading.texts] == [("所处行业", "中药")]


@pytest.mark.parametrize("order", ["2022年调整前,2022年调整后", "2022年（调整后）,2022年（调整前）"])
def test_adjusted_columns_in_either_order(order: str) -> None:
    after, before = ("300", "200") if "调整后）" in order.split(",")[0] else ("200", "300")
    reading = read(f"单位：万元,,,\n项目,2023年,{order}\n营业收入,500,{after},{before}\n", entity="000001")
    found = {(f.end[:4], f.dims): f.value for f in reading.facts}
    assert found == {
        ("2023", "{}"): 5000000,
        ("2022", '{"vintage": "调整前"}'): 2000000,
        ("2022", '{"vintage": "调整后"}'): 3000000,
    }


def test_minus_one_is_missing_for_an_amount_and_a_number_for_a_rate() -> None:
    reading = read("报告期,净利润,净利润同比增长率\n2024-12-31,-1,-1\n", entity="000001")
    assert [(f.concept, f.value) for f in reading.facts] == [("净利润同比增长率", -0.01)]
    assert sum(reading.left_out.values()) == 1


def test_statement_lines_lose_their_numbering_and_repeat_once() -> None:
    headings = "报告期,*净利润,五、净利润,其中：营业收入,减：所得税费用,净利润(万元)"
    table = f"{headings}\n2024-12-31,1.5亿,1.50亿,2亿,1千万,15000\n"
    assert [(f.concept, f.value, f.copies) for f in read(table).facts] == [
        ("净利润", 150000000, 3),
        ("营业收入", 200000000, 1),
        ("所得税费用", 10000000, 1),
    ]


def test_a_balance_sheet_is_of_instants_and_opening_cash_of_the_year_before() -> None:
    balance = read("报告期,资产总计,存货\n2024-12-31,5亿,1亿\n").facts
    assert {f.start for f in balance} == {None}
    cash = read("报告期,经营活动产生的现金流量净额,加：期初现金及现金等价物余额\n2024-06-30,5亿,1亿\n").facts
    assert [(f.start, f.end) for f in cash] == [("2024-01-01", "2024-06-30"), (None, "2023-12-31")]


@pytest.mark.parametrize(
    ("currency", "unit"),
    [("人民币", "CNY"), ("RMB", "CNY"), ("HKD", "HKD"), ("", "CNY"), ("港币", "HKD"), ("美元", "USD"), ("港元", "HKD")],
)
def test_a_column_of_currencies(currency: str, unit: str) -> None:
    (fact,) = read(f"报告期,净利润,币种\n2024-12-31,5亿,{currency}\n").facts
    assert fact.unit == unit


def test_an_amount_in_an_unknown_currency_is_refused_and_counted() -> None:
    reading = read("报告期,净利润,净利润同比,币种\n2024-12-31,5亿,3,贝壳\n")
    assert [f.concept for f in reading.facts] == ["净利润同比"]
    assert reading.left_out == {"amount in a currency that is not known: '贝壳'": 1}


@pytest.mark.parametrize(
    ("table", "value", "unit"),
    [
        ("单位：百万港元\n报告期,营业收入\n2024-12-31,12\n", 12000000, "HKD"),
        ("单位：千元 币种：美元\n报告期,营业收入\n2024-12-31,12\n", 12000, "USD"),
        ("报告期,营业收入（万港元）\n2024-12-31,12\n", 120000, "HKD"),
        ("报告期,营业收入\n2024-12-31,12万美元\n", 120000, "USD"),
        ("单位：万元\n报告期,每股收益\n2024-12-31,1.2\n", 1.2, "CNY/shares"),
        ("单位：万元\n报告期,流动比率\n2024-12-31,1.2\n", 1.2, "pure"),
        ("股票代码,报告期,营业收入\n00700,2024-12-31,12\n", 12, None),  # nothing follows from Hong Kong alone
        ('股票代码,报告期,营业收入\n"=""000001""",2024-12-31,12\n', 12, "CNY"),
    ],
)
def test_units_and_currencies(table: str, value: float, unit: str | None) -> None:
    (fact,) = read(table.replace("\n", ",\n", 1) if table.startswith("单位") else table).facts
    assert (fact.value, fact.unit) == (value, unit)


@pytest.mark.parametrize("code", ['"=""000538"""', "'000538", "\t000538", "538"])
def test_codes_that_were_kept_from_a_spreadsheet(code: str) -> None:
    assert read(f"股票代码,报告期,营业收入\n{code},2024-12-31,12\n").facts[0].entity == "000538"


def test_a_short_number_beside_another_currency_is_a_code_of_hong_kong() -> None:
    assert read("股票代码,报告期,币种,营业收入\n700,2024-12-31,港币,12\n").facts[0].entity == "00700"


@pytest.mark.parametrize(
    ("name", "value", "start"),
    [
        ("存货", 5, None),
        ("INVENTORY", 5, None),
        ("未分配利润", 5, None),
        ("长期待摊费用", 5, None),
        ("应付职工薪酬", 5, None),
        ("资产减值损失", 5, "2024-01-01"),
        ("处置固定资产收回的现金净额", 5, "2024-01-01"),
        ("存货的减少", 5, "2024-01-01"),
        ("净利润", 5, "2024-01-01"),
        ("管理费用占比", 0.05, "2024-01-01"),
        ("存货周转率", 5, "2024-01-01"),
        ("总负债同比", 0.05, None),
        ("REVENUE_YOY", 0.05, "2024-01-01"),
        ("净利润同比增长额", 5, "2024-01-01"),
        ("换手率", 0.05, "2024-01-01"),
    ],
)
def test_balances_flows_and_shares_by_name(name: str, value: float, start: str | None) -> None:
    """In one table with an item of each kind, so that the table itself tells nothing."""
    table = f"报告期,净资产,利润总额,{name}\n2024-12-31,1,1,5\n"
    assert [(f.value, f.start) for f in read(table).facts][2] == (value, start)


def test_an_item_that_tells_nothing_is_as_the_others_of_its_table() -> None:
    assert read("报告期,资产总计,专项储备\n2024-12-31,9,1\n").facts[1].start is None
    assert read("报告期,净利润,专项储备\n2024-12-31,9,1\n").facts[1].start == "2024-01-01"


def test_a_long_table_gives_its_items_and_counts_what_stands_beside() -> None:
    table = "SECURITY_CODE,REPORT_DATE,FISCAL_YEAR,STD_ITEM_NAME,AMOUNT,yoy\n00005,2024-03-31,03-31,{},12,0.1\n"
    reading = read(table.format("营业额收入") + table.format("存货").split("\n")[1])
    assert [(f.concept, f.value, f.start) for f in reading.facts] == [
        ("营业额收入", 12, "2023-04-01"),
        ("存货", 12, None),
    ]
    assert sum(reading.left_out.values()) == 2
    with pytest.raises(NotOurs, match="not one column of figures"):
        read("报告期,指标,A,B\n2024-12-31,净利润,1,2\n")


def test_what_cannot_be_read_is_counted() -> None:
    table = "报告期,净利润\n2024-12-31,1\n2024-4,2\n,3\n2024-09-30,1,234\n"
    assert read(table).left_out == {
        "row of '2024-4', no period that can be read": 1,
        "row without a period": 1,
        "row with more cells than the heading has": 1,
    }
    assert read("指标,20241231,2024-4\n净利润,1,2\n").left_out == {
        "figure in a column without a period that can be read": 1
    }


def test_the_day_in_a_files_name_stands_in_for_no_period_that_a_row_names() -> None:
    reading = read("报告期,净利润\n某期,1\n2024-06-30,2\n", "a_20241231.csv")
    assert [(f.value, f.end) for f in reading.facts] == [(2, "2024-06-30")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030", "utf-16", "utf-16-be"])
def test_encodings(encoding: str) -> None:
    data = "报告期,净利润\n2024-12-31,5亿\n".encode(encoding)
    data = b"\xfe\xff" + data if encoding == "utf-16-be" else data
    assert read(data).facts[0].value == 500000000


def test_single_quarters_by_the_files_name() -> None:
    assert read("报告期,净利润\n2024-09-30,5亿\n", "利润_单季.csv").facts[0].start == "2024-07-01"


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (("2024一季度", "2024二季度", "2024三季度"), "2024-07-01"),
        (("2024一季度", "2024半年度", "2024三季度", "2024年度"), "2024-01-01"),
        (("2024年第1季度", "2024年第2季度", "2024年第3季度"), "2024-07-01"),
        (("2024年报", "2024年7-9月"), "2024-07-01"),
    ],
)
def test_a_quarter_beside_reports_is_the_year_to_date(names: tuple[str, ...], start: str) -> None:
    rows = read("报告期,净利润\n" + "".join(f"{name},5亿\n" for name in names)).facts
    columns = read(f"指标,{','.join(names)}\n净利润{',5亿' * len(names)}\n").facts
    assert {f.start for f in rows if f.end == "2024-09-30"} == {start}
    assert [(f.start, f.end) for f in columns] == [(f.start, f.end) for f in rows]


def test_the_parents_own_statements_are_not_the_groups() -> None:
    table = "报告日,货币资金,类型\n20241231,5亿,合并期末\n20241231,3亿,母公司期末\n"
    assert [(f.value, f.dims) for f in read(table).facts] == [(500000000, "{}"), (300000000, '{"scope": "母公司"}')]


def test_forecasts_are_no_results_and_a_company_elsewhere_has_no_yuan() -> None:
    with pytest.raises(NotOurs, match="forecasts"):
        read("股票代码,预测指标,预测数值,公告日期\n600001,净利润,5,2025-01-20\n", "a_20241231.csv")
    assert read("SECUCODE,REPORT_DATE,ITEM_NAME,AMOUNT\nAAPL.O,2024-09-28,营业收入,5\n").facts[0].unit is None


def test_a_table_that_names_no_company_says_so_unless_told() -> None:
    table = "报告期,净利润\n2024-12-31,5亿\n"
    assert read(table).facts[0].entity is None and "--entity" in next(iter(read(table).remarks))
    told = read(table, entity="600519", company="贵州茅台")
    assert (told.facts[0].entity, told.facts[0].name, told.remarks) == ("600519", "贵州茅台", {})


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"a,b\n1,2\n", NotOurs, "neither 报告期"),
        ("股票代码,净利润\n538,5\n".encode(), NotOurs, "20241231"),
        ("日期,股票代码,开盘,收盘,最高\n2024-05-16,600519,1,1,1\n".encode(), NotOurs, "prices"),
        (b"ts_code,end_date,revenue\n600000.SH,20241231,1\n", NotOurs, "Tushare"),
        (b"\xff\xff\xff", UserError, "neither UTF-8 nor GBK"),
        ('报告期,净利润\n2024-12-31,"5\n'.encode(), UserError, "damaged CSV"),
    ],
)
def test_tables_that_cannot_be_read(data: bytes, error: type[UserError], words: str) -> None:
    with pytest.raises(error, match=words):
        read(data)


@pytest.mark.conformance
def test_published_samples(shared_data: Path) -> None:
    values = {}
    for path in sorted((shared_data / "cn").iterdir()):
        for fact in read(path.read_bytes(), path.name).facts:
            values[path.name[8:-11], fact.concept, fact.end] = (fact.value, fact.start)
    assert values["profit_sheet", "净利润", "2025-09-30"] == (66899000000, "2025-01-01")
    assert values["profit_sheet", "归属于母公司所有者的净利润", "2025-09-30"] == (64627000000, "2025-01-01")
    assert values["balance_sheet", "货币资金", "2025-09-30"] == (51753000000, None)
    assert values["cash_flow_sheet", "期末现金及现金等价物余额", "2025-09-30"] == (159502000000, None)
    assert values["indicators", "净资产收益率", "2024-12-31"] == (0.3602, "2024-01-01")


def test_question_sets_keep_the_asked_value_out_of_the_passage() -> None:
    reading = Reading()
    read_questions(QUESTIONS, Path("tatqa.json"), reading)
    (passage,) = reading.passages
    assert passage.text == " | 2019 | 2018\nTotal sales | $1,496.5 | $1,202.9\nSales by contract type."
    assert reading.candidates == {
        passage.passage_id: [{"question": "What were total sales in 2019?", "value": "$1,496.5 million"}]
    }


def test_docfinqa_contexts_come_once_and_in_pieces() -> None:
    context = "\\n".join(f"Line {n} of the report says little." for n in range(200))
    entry = f'{{"Context": "{context}", "Question": "Q%d", "Program": "", "Answer": "%d"}}\n'
    reading = Reading()
    read_questions((entry % (1, 10) + entry % (2, 20)).encode(), Path("train.jsonl"), reading)
    assert len(reading.passages) == 6
    assert [c["value"] for c in reading.candidates[reading.passages[0].passage_id]] == ["10", "20"]


@pytest.mark.conformance
def test_published_question_sets(shared_data: Path) -> None:
    counts = {}
    for path in sorted((shared_data / "qa").iterdir()):
        reading = Reading()
        read_questions(path.read_bytes(), path, reading)
        assert len({p.passage_id for p in reading.passages}) == len(reading.passages)
        counts[path.name] = (len(reading.passages), sum(map(len, reading.candidates.values())))
    assert counts == {"financebench_open_source.jsonl": (168, 189), "tatqa_dataset_dev.json": (278, 1668)}


@pytest.mark.conformance
def test_every_cell_of_tat_qa_stands_in_its_column(shared_data: Path) -> None:
    path = shared_data / "qa/tatqa_dataset_dev.json"
    reading = Reading()
    read_questions(path.read_bytes(), path, reading)
    entries = {entry["table"]["uid"]: entry["table"]["table"] for entry in json.loads(path.read_bytes())}
    assert len(reading.passages) == len(entries) == 278
    for passage in reading.passages:
        table = [[" ".join(cell.split()) for cell in row] for row in entries[passage.passage_id.split(":")[1]]]
        table = [row for row in table if any(row)]
        assert [line.split(" | ") for line in passage.text.split("\n")[: len(table)]] == table


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"pre_text": [], "post_text": [], "table": [["a"]], "qa": {}}, "FinQA"),
        ({"tables": [], "paragraphs": [], "qa": {}}, "MultiHiertt"),
        ({"doc": {}, "questions": []}, "TAT-DQA"),
    ],
)
def test_other_question_sets_are_named(entry: dict[str, object], name: str) -> None:
    with pytest.raises(NotOurs, match=name):
        read_questions(json.dumps([entry]).encode(), Path("x.json"), Reading())


def test_one_id_for_two_evidences_of_a_page_there_is_not() -> None:
    entry = {"financebench_id": "1", "company": "A", "doc_name": "A_2022_10K", "question": "q", "answer": "5"}
    lines = [entry | {"evidence": [{"evidence_text": text, "page_number": 9}]} for text in ("One.", "Two.", "One.")]
    reading = Reading()
    read_questions("\n".join(map(json.dumps, [entry | {"evidence": []}, *lines])).encode(), Path("x.jsonl"), reading)
    assert [p.text for p in reading.passages] == ["One.", "Two."]
    assert [len(c) for c in reading.candidates.values()] == [2, 1]
    assert reading.passages[0].passage_id.startswith("A_2022_10K:p9:")
