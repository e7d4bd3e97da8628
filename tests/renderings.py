"""Every way to write a value, and sentences to put it in: what the readers of answers must see through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Amount:
    """A gold: its number in its own unit, without sign; `negative` amounts are written with a minus or as losses."""

    kind: str  # usd, cny, percent, per_share
    number: float
    negative: bool = False

    @property
    def gold(self) -> str:
        """As a benchmark writes it."""
        sign = "-" if self.negative else ""
        if self.kind == "percent":
            return f"{sign}{_short(self.number)}%"
        if self.kind == "per_share":
            return f"{sign}${self.number:.2f}"
        if self.kind == "cny":
            return f"{sign}{_short(self.number / 1e8)}亿元"
        return f"{sign}${_short(self.number / 1e9)}B"


def _short(number: float, decimals: int = 2) -> str:
    return f"{number:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{number:.0f}"


_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_ONES = f"zero|one|two|three|four|five|six|seven|eight|nine|{_TEENS}".split("|")
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_HAN = "零一二三四五六七八九"
_WIDE = str.maketrans("0123456789.", "０１２３４５６７８９．")


def english_words(number: int) -> str:
    """A number below a thousand million in words."""
    for size, name in ((10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = f" {english_words(number % size)}" if number % size else ""
            return f"{english_words(number // size)} {name}{rest}"
    if number < 20:
        return _ONES[number]
    return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")


def chinese_words(number: int) -> str:
    """A number below 10**12 in characters: 12,187,000,000 is 一百二十一亿八千七百万."""
    for size, name in ((10**8, "亿"), (10**4, "万")):
        if number >= size:
            rest = number % size
            zero = "零" if rest and rest < size // 10 else ""
            return chinese_words(number // size) + name + zero + (chinese_words(rest) if rest else "")
    written, gap = "", False
    for place, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // place % 10
        if digit:
            written += ("零" if gap and written else "") + _HAN[digit] + name
            gap = False
        else:
            gap = True
    return written or "零"


# One notation a line; a name in <> stands for the number in a unit, see `_written`.
NOTATIONS = {
    "usd": r"""
$<b> billion
$<b>B
$<b>b
$<b> bn
$<b>bn
$<b> B
$ <b> billion
$<b>-billion
+$<b>B
US$<b> billion
US $<b>bn
USD <b> billion
USD<b>bn
<b> billion USD
<b> bn USD
<b>B USD
<b> USD billion
<b> USD bn
<b> billion dollars
<b> billion U.S. dollars
<b> billion US$
<b> billion $
<b> (USD billions)
<b> (in billions of US dollars)
<b> ($ billions)
<b> ($B)
$<m,> million
$<m,>M
$<m,>MM
$<m,> mn
$<m>M
<m,> million USD
<m_> million USD
$<m_> million
$<m thin> million
$<m fixed> million
$<m'> million
<m,> (in millions)
<m,> ($ in millions)
<m,> (USD millions)
$ in millions: <m,>
(USD, millions): <m,>
(in $ millions) <m,>
in USD millions: <m,>
$<k,> thousand
$<k,>K
$<k,> (in thousands)
<k,> (thousands of dollars)
$<n,>
USD <n,>
<n,> USD
<n> dollars
<n_> USD
$<n,>.00
<e> USD
<e> dollars
$<b> × 10^9
<b> x 10⁹ USD
$<b>\times 10^{9}$ USD
\$<b>\text{ billion}
$<b>\text{ billion}$
\boxed{\$<b>\text{ billion}}
\mathbf{<b>}\text{ billion}
\boxed{<m{,}> \text{ million}}
\$<m{,}> million
<b>~\text{billion}
\textbf{\$<b>B}
**$<b> billion**
**$<b>** billion
*$<b>B*
***$<b>B***
_$<b>B_
`$<b>B`
<m words> million dollars
<亿>亿美元
<万>万美元
<m,>百万美元
$<t> trillion
""",
    "cny": r"""
<亿>亿元
<亿> 亿元
<亿>亿
<亿>亿元人民币
人民币<亿>亿元
人民币 <亿> 亿元
￥<亿>亿
¥<亿>亿元
RMB<亿>亿
+<亿>亿元
<亿>（亿元）
<亿>(亿元)
<亿>（单位：亿元）
（单位：亿元）<亿>
（亿元）：<亿>
单位：亿元，<亿>
<万,>万元
<万>万元
<万,> 万元
<万,>（万元）
（单位：万元）<万,>
<m,>百万元
人民币<m,>百万元
<m,>百万
<m>百万元人民币
<n,>元
<n>元
人民币<n,>元
<n,>.00元
CNY <n,>
RMB <m,> million
RMB <b> billion
RMB<b>bn
<b> billion yuan
CNY<m,>m
<n han>元
<亿 wide>亿元
<亿 and 万>万元
<e>元
\boxed{<亿>\text{亿元}}
$<亿>\text{亿元}$
**<亿>亿元**
*<亿>亿元*
""",
    "percent": r"""
<n.>%
<n.> %
+<n.>%
<n.> percent
<n.> per cent
<n.> pct
<n.>％
<n.>0%
\boxed{<n.>\%}
$<n.>\%$
\(<n.>\%\)
<n.>\%
**<n.>%**
*<n.>%*
百分之<n.>
百分之<n. han>
<n. words> percent
""",
    "per_share": r"""
$<n.2>
$<n.2> per share
$<n.2> per diluted share
$<n.2>/share
USD <n.2>
US$<n.2>
<n.2> dollars per share
<cents> cents
<cents> cents per share
<cents>¢ per share
\boxed{\$<n.2>}
\$<n.2>
**$<n.2>**
每股<n.2>美元
<n.2>美元/股
<n.2>美元
""",
}


def renderings(amount: Amount) -> Iterator[str]:
    """Every way to write an amount, its sign left out."""
    for notation in NOTATIONS[amount.kind].strip().replace("\\\\", "\\").split("\n"):
        yield re.sub(r"<([^<>]+)>", lambda name: _written(name.group(1), amount.number), notation)


def _written(name: str, number: float) -> str:
    """The number in trillions (t), b, m, k, ones (n), 亿 or 万, its digits grouped or in words."""
    units = {"t": 1e12, "b": 1e9, "m": 1e6, "k": 1e3, "n": 1.0, "亿": 1e8, "万": 1e4}
    if name == "e":
        return f"{number:.6e}"
    if name == "cents":
        return f"{number * 100:.0f}"
    if name == "亿 and 万":
        return f"{number // 1e8:.0f}亿{max(number % 1e8 // 1e4, 1):.0f}"
    if name.startswith("n."):
        return _rate(name[2:].strip(), number)
    scaled = number / units[name[0]]
    short = _short(scaled, 0 if name[0] in "kn" else 6 if name[0] == "t" else 4)
    grouped = f"{scaled:,.0f}" if name[0] in "kn" else f"{scaled:,.4f}".rstrip("0").rstrip(".")
    separators = {",": ",", "_": " ", " thin": "\u202f", " fixed": "\u00a0", "'": "'", "{,}": "{,}"}
    form = name[1:]
    if form in separators:
        return grouped.replace(",", separators[form])
    words = {" words": english_words, " han": chinese_words}
    return words[form](round(scaled)) if form in words else short.translate(_WIDE) if form == " wide" else short


def _rate(form: str, number: float) -> str:
    if form == "2":
        return f"{number:.2f}"
    short = _short(number)
    whole, _, decimals = short.partition(".")
    if form == "han":
        return chinese_words(int(whole)) + (f"点{''.join(_HAN[int(d)] for d in decimals)}" if decimals else "")
    if form == "words":
        return english_words(int(whole)) + (f" point {' '.join(_ONES[int(d)] for d in decimals)}" if decimals else "")
    return short + ("" if decimals else ".0")


# {v} is the value; each sentence puts it forward as the answer and names no other value.
FRAMES = {
    "en": (
        "{v}",
        "{v}.",
        "It was {v}.",
        "The answer is {v}.",
        "Answer: {v}",
        "**Answer:** {v}",
        "Final answer: {v}",
        "### Final answer\n{v}",
        "The figure is {v}",
        "The company reported {v}.",
        "Acme Corp. reported {v} for the year.",
        "Acme, Inc. had {v}.",
        "According to the 10-K, it was {v}.",
        "Based on the search results, the value is {v}.",
        "For the full year it came to {v}.",
        "It came to {v}, as stated on page 62.",
        "It amounted to {v} (see Note 17).",
        "It totaled {v}[1].",
        "Therefore, {v}.",
        "Thus the result is {v}.",
        "In summary, the figure was {v}.",
        "I found that it was {v}.",
        "I am 90% confident that it was {v}.",
        "{v}\n\nConfidence: 85%",
        "{v} (confidence: 70)",
        "{v}. Would you like the segment figures as well?",
        "The user confirmed the scope. The figure is {v}.",
        "Assuming you mean the company as a whole: {v}.",
        "- {v}",
        "1. {v}",
        "> {v}",
        "Value: {v}; source: Form 10-K.",
        "Value – {v}",
        "Value — {v}",
        "The value stood at {v}",
        "| Item | Value |\n|---|---|\n| Result | {v} |",
        "Let me check.\nThe filing says {v}.",
        "The filing has 3 segments; the figure asked for is {v}.",
        "I used 2 searches.\n\nAnswer: {v}",
        '{{"answer": "{v}"}}',
    ),
    "zh": (
        "{v}",
        "{v}。",
        "为{v}。",
        "是{v}",
        "答案：{v}",
        "答案是{v}。",
        "**答案**：{v}",
        "最终答案：{v}",
        "### 结论\n{v}",
        "结论：{v}。",
        "该数值为{v}。",
        "公司披露的数据为{v}。",
        "根据年报，该指标为{v}。",
        "根据年报第12页，该指标为{v}【1】。",
        "经查询，结果为{v}。",
        "经核实，应为{v}。",
        "因此，结果为{v}。",
        "综上，{v}。",
        "所以答案为{v}。",
        "合计{v}",
        "约{v}",
        "约为{v}。",
        "达到{v}。",
        "达{v}。",
        "为{v}（见附注17）。",
        "为{v}，数据来源于年度报告。",
        "按您确认的口径，为{v}。",
        "全年为{v}。",
        "公司（600019.SH）全年为{v}。",
        "{v}（置信度90%）",
        "有90%的把握为{v}。",
        "{v}。还需要其他数据吗？",
        "- {v}",
        "1. {v}",
        "1、{v}",
        "数值：{v}；来源：年报。",
        "数值—{v}",
        "| 项目 | 数值 |\n|---|---|\n| 结果 | {v} |",
        "公司有3个分部，所问数据为{v}。",
        "检索3次后，\n答案：{v}",
    ),
}
