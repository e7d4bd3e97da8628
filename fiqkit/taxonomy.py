"""The five ambiguity categories and the interpretation field that each one settles (paper, section 3)."""

from dataclasses import dataclass

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of ambiguity.

    Attributes:
        name: identifier in data files and reports.
        field: the field of an `Interpretation` that a reply about this category settles.
        title: name for people, by language.
        definition: what it leaves open, for an agent, by language.
        readings: number of plausible readings when an instance does not enumerate its own.
        template: the fixed yes/no question that asks about this category, by language.
    """

    name: str
    field: str
    title: dict[str, str]
    definition: dict[str, str]
    readings: int
    template: dict[str, str]


CATEGORIES: dict[str, Category] = {
    category.name: category
    for category in (
        Category(
            name="entity_scope",
            field="entity",
            title={"en": "Entity scope", "zh": "主体范围"},
            definition={
                "en": "which part of the company: the whole group, a segment, the parent alone, its shareholders' part",
                "zh": "哪一家公司或公司的哪一部分：合并口径、分部或子公司、母公司单体，还是归属于母公司股东的部分",
            },
            readings=3,
            template={
                "en": "Do you mean the consolidated company-wide figure, not that of a segment, the parent alone or "
                "its shareholders?",
                "zh": "您要的是公司整体合并口径的数据，而不是某个分部、母公司单体或归属于母公司股东的数据，对吗？",
            },
        ),
        Category(
            name="temporal_scope",
            field="period",
            title={"en": "Temporal scope", "zh": "期间范围"},
            definition={
                "en": "which period: which year, fiscal or calendar, a quarter, the full year or the year to date",
                "zh": "哪一期间：哪一年，会计年度还是自然年度，单季度、全年、年初至今还是滚动期间",
            },
            readings=2,
            template={
                "en": "Do you mean the full fiscal year, rather than a quarter, the year to date or a trailing period?",
                "zh": "您要的是完整会计年度的数据，而不是单季度、年初至今或滚动期间的数据，对吗？",
            },
        ),
        Category(
            name="metric_definition",
            field="metric",
            title={"en": "Metric definition", "zh": "指标定义"},
            definition={
                "en": "which definition: as the accounting standard has it or adjusted, basic or diluted",
                "zh": "指标如何定义：按会计准则列报还是经调整，基本还是稀释，扣除非经常性损益之前还是之后",
            },
            readings=4,
            template={
                "en": "Do you mean the figure as reported under the accounting standard, without any adjustment?",
                "zh": "您要的是按会计准则列报、未扣除非经常性损益（非扣非）的数据，对吗？",
            },
        ),
        Category(
            name="recognition_policy",
            field="basis",
            title={"en": "Recognition policy", "zh": "确认政策"},
            definition={
                "en": "which accounting treatment: a point in time or over time, gross or net, capitalised or expensed",
                "zh": "如何进行会计处理：时点确认还是时段确认，总额法还是净额法，资本化还是费用化",
            },
            readings=2,
            template={
                "en": "Do you mean the total, irrespective of the timing or the gross or net basis of recognition?",
                "zh": "您要的是总额，不区分确认时点或总额法与净额法，对吗？",
            },
        ),
        Category(
            name="filing_vintage",
            field="vintage",
            title={"en": "Filing vintage", "zh": "披露版本"},
            definition={
                "en": "which version: as first filed, or as later restated, amended or recast",
                "zh": "哪一版本：首次披露的，还是之后重述、更正或追溯调整的",
            },
            readings=2,
            template={
                "en": "Do you mean the figure as first filed, not as later restated or amended?",
                "zh": "您要的是首次披露的数据，而不是之后重述或更正的数据，对吗？",
            },
        ),
    )
}

FIELDS: tuple[str, ...] = ("entity", "period", "metric", "basis", "vintage")

FORMS: tuple[str, ...] = ("named", "touch", "central")
"""How a question can target a category: its words name it, it raises it, it is about it most of all (protocol, 9)."""

RETRIEVALS: tuple[str, ...] = ("index", "own", "own+spans", "intended-span")
"""What a search returns: real search, the instance's own passage, both spans beside it, the intended span alone."""

THINKING, THINKING_OFF = "+thinking", "+thinking-off"
"""Appended to a model's name where the same weights are run with thinking on, or recorded with it off."""

UNCONSTRAINED, PROMPT_CUT = "unconstrained", "prompt_cut"
"""Flags of an episode: no reply was held to a schema; the server seems to have cut the prompt (both numbers follow)."""

MODE_ORDER: tuple[str, ...] = (
    "answer",
    "search",
    "interact",
    "forced-interact",
    "always-ask",
    "category-oracle",
    "template-oracle",
    "interpretation-oracle",
    "context-oracle",
    "oracle-retrieval",
    "enumerate",
    "category-aware",
    "category-aware-no-precheck",
    "category-aware-no-template",
    "category-aware-no-gate",
    "generic-structured",
)


def mode_rank(mode: str) -> tuple[int, int, str]:
    """Where a mode stands in a table: the protocol's order, `forced-interact-N` by N, unknown modes last."""
    stem, _, count = mode.rpartition("-")
    name, n = (stem, int(count)) if count.isdigit() else (mode, 0)
    return (MODE_ORDER.index(name) if name in MODE_ORDER else len(MODE_ORDER), n, mode)
