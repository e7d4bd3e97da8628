"""The report as one HTML file that holds everything it shows: tables, figures, and every episode in full.

The page loads nothing and runs no script but its own: its policy names the hashes of its one script and its one style.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from fiqkit import __version__
from fiqkit.metrics.errors import ERRORS
from fiqkit.report import page_tables as tables
from fiqkit.report.document import Report
from fiqkit.report.notes import comparison_notes, correction_lines, cutoff_lines, diagnosis_lines, notes, partial_runs
from fiqkit.report.page_episodes import pieces
from fiqkit.store.store import Store
from fiqkit.whole_file import written_whole

_HERE = Path(__file__).parent


def write_page(
    report: Report, store: Store, path: Path, probes: Sequence[Path] = (), training: Sequence[Path] = ()
) -> None:
    """Write the page; `probes` are results of `fiqkit probe` and `training` logs of `fiqkit train` to show on it.

    Raises:
        UserError: the file cannot be written, would replace one that is read, or one of the others cannot be read.
    """
    text = page(report, store, probes, training)
    with written_whole(path, [store.path, *probes, *training]) as scratch:
        scratch.write_text(text, encoding="utf-8")


def page(report: Report, store: Store, probes: Sequence[Path] = (), training: Sequence[Path] = ()) -> str:
    """The page as text."""
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    from fiqkit.figures.gallery import draw_all
    from fiqkit.figures.style import themed
    from fiqkit.figures.training import learning_curves
    from fiqkit.probe.output import read_section
    from fiqkit.train.logs import read_logs

    plates = [
        {"name": plate.name, "title": plate.title, "caption": plate.caption, "svg": Markup(themed(figure))}
        for plate, figure in draw_all(report.material())
    ]
    sections = [("results", "Results"), *((plate["name"], plate["title"]) for plate in plates)]
    sections += [("parts", "By language and category"), ("endings", "Endings")]
    sections += [("comparisons", "Comparisons")] if report.comparisons else []
    sections += [("diagnosis", "Diagnosis")] if report.diagnosis else []
    probed = [
        {"id": f"probe-{n}", "model": model, "body": Markup(body)}
        for n, (model, body) in enumerate(map(read_section, probes))
    ]
    sections += [(probe["id"], f"Probe of {probe['model']}") for probe in probed]
    taught = [
        {"id": f"training-{n}", "name": name, "svg": Markup(themed(learning_curves(logs)))}
        for n, (name, logs) in enumerate(map(read_logs, training))
    ]
    sections += [(one["id"], f"Training: {one['name']}") for one in taught]
    css, js = (_HERE / "page.css").read_text(encoding="utf-8"), (_HERE / "page.js").read_text(encoding="utf-8")
    template = Environment(loader=FileSystemLoader(_HERE), autoescape=True).get_template("page.html")
    return template.render(
        title="Evaluation report",
        policy=policy(js, css),
        standfirst=tables.standfirst(report),
        probes=probed,
        training=taught,
        sections=[*sections, ("episodes", "Episodes")],
        css=Markup(css),
        js=Markup(js),
        columns=tables.columns(report),
        blocks=list(tables.blocks(report)),
        notes=[
            *notes(report.shown()),
            *partial_runs(report.runs),
            *correction_lines(report.rows),
            *cutoff_lines(report.rows, report.cutoff),
        ],
        plates=plates,
        pooled=report.pooled,
        orbits=tables.has_orbits(report),
        **tables.parts(report.shown()),
        **tables.endings(report.shown()),
        comparisons=[tables.comparison(found, len(report.runs) > 1) for found in report.comparisons],
        comparison_notes=comparison_notes(report.comparisons),
        diagnosis=diagnosis_lines(report.diagnosis),
        errors=[(label, meaning) for label, meaning in ERRORS.items() if label != "unjudged"],
        runs=report.runs,
        version=__version__,
        pieces={name: Markup(piece) for name, piece in pieces(report, store).items()},
    )


def policy(script: str, style: str) -> str:
    """The content security policy of a page with one script and one style element.

    Style attributes are allowed: figures and bars are placed by them, and they can neither run nor load anything.
    """
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src-elem '{_hash(style)}'; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    """As a browser computes it, over the element's text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
