"""One self-contained page about a run: animation, plots, the system, its equations, and how the
formalisms agree."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

import casadi as ca
import numpy as np
from matplotlib.figure import Figure

from ..arguments import file_path, write_text
from ..equations import Equations
from ..errors import ArgumentError, MechgraphError
from ..results.trajectory import Trajectory
from ..studies.agreement import agreement
from .describe import describe
from .plot import plot, plot_tables, tables_of
from .readable import equations_text
from .view import fill, subtitle, view

STATES = 3  # at which the formalisms are compared
LARGEST_SYSTEM = 16  # speeds up to which the formalisms are compared and the equations are printed
LONGEST_TEXT = 20_000  # characters of equations
TEMPLATE = Path(__file__).with_name("report.html")


def report(run: Trajectory, path: str | Path) -> Path:
    """Write the page, which needs no other file."""
    path = file_path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"{path}: a report is written as .html")
    if not len(run):
        raise ArgumentError("there is nothing to report: the run is empty")
    equations = run._need()
    sections: dict[str, Callable[[], str]] = {
        "Motion": lambda: view(run)._repr_html_(),
        "Run": lambda: _facts(run),
        "Plots": lambda: _image(plot(run)),
        "System": lambda: _verbatim(describe(equations.system)),
        "Agreement of the formalisms": lambda: _agreement(run, equations),
        "Sizes of the equations": lambda: _sizes(equations),
        "Equations": lambda: _equations(equations),
    }
    if tables_of(equations):
        sections["Tables"] = lambda: "".join(map(_image, plot_tables(equations).values()))
    body = "\n".join(_section(title, write) for title, write in sections.items())
    lead = f"{run.outcome} · {subtitle(run)}"
    page = fill(TEMPLATE, TITLE=escape(run.name), LEAD=escape(lead), BODY=body)
    return write_text(path, page)


def _section(title: str, write: Callable[[], str]) -> str:
    """One section of the page; what goes wrong with it is said there, and ends no other."""
    try:
        content = write()
    except Exception as error:  # whatever a user's own expressions make of it
        content = f"<p>Not available: {escape(str(error) or type(error).__name__)}</p>"
    return f"<section><h2>{escape(title)}</h2>\n{content}</section>"


# --- sections -------------------------------------------------------------------------------------


def _facts(run: Trajectory) -> str:
    first, last, spread = run.energy[0], run.energy[-1], np.ptp(run.energy)
    energy = f"{first:.9g} J at first, {last:.9g} J at last; {spread:.2g} J from least to largest"
    rows = [
        ("outcome", run.outcome),
        ("time", f"{run.time[0]:g} … {run.time[-1]:g} s in {len(run)} stored steps"),
        ("energy T + V", energy),
        ("largest violation", f"{run.violation.max(initial=0):.2g}"),
    ]
    rows += [(key, _text(value)) for key, value in run.statistics.items()]
    rows += [(f"parameter {name}", f"{value:g}") for name, value in run.parameters.items()]
    for name, times in run.events.items():
        rows.append((f"event {name}", ", ".join(f"{t:.6g} s" for t in times) or "never"))
    return _table((), rows)


def _image(figure: Figure) -> str:
    stream, layout = io.BytesIO(), figure.get_layout_engine()
    if layout is not None:  # once, not again with every drawing
        layout.execute(figure)
        figure.set_layout_engine(None)
    figure.savefig(stream, format="png", dpi=130)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return f'<img alt="plots" src="data:image/png;base64,{data}">'


def _agreement(run: Trajectory, equations: Equations) -> str:
    if len(equations.speeds) > LARGEST_SYSTEM:
        return _too_large("Not compared here", "mechgraph check")
    guess = dict(zip(equations.coordinates, run.q[0], strict=True))
    try:
        found = agreement(equations.system, STATES, guess=guess)
    except MechgraphError as error:
        return f"<p>Not compared: {escape(str(error))}</p>"
    header, *rows = found.table()
    notes = "".join(
        f"<p>{escape(row.formalism)}: {escape(row.note)}</p>" for row in found.rows if row.note
    )
    return f"{_table(header, rows)}<p>{escape(found.verdict)}</p>{notes}"


def _sizes(equations: Equations) -> str:
    """Operations of each quantity, with shared subexpressions counted once."""
    s = equations.terms.symbols
    names = ["M", "f", *(["phi", "psi", "A", "b"] if equations.constraints else [])]
    rows = []
    for name in names:
        value = getattr(equations.terms, name)
        function = ca.Function("size", [s.q, s.u, s.t, s.w, s.p], [value], {"cse": True})
        shape = " × ".join(map(str, value.shape))
        rows.append((name, shape, str(value.nnz()), str(function.n_instructions())))
    return _table(("quantity", "shape", "entries not zero", "operations"), rows)


def _equations(equations: Equations) -> str:
    if len(equations.speeds) > LARGEST_SYSTEM:
        return _too_large("Not printed", "mechgraph equations")
    text = equations_text(equations)
    if len(text) > LONGEST_TEXT:
        return f"<p>Too long for this page ({len(text):,} characters); see mechgraph equations.</p>"
    return _verbatim(text)


# --- pieces ---------------------------------------------------------------------------------------


def _too_large(what: str, instead: str) -> str:
    return f"<p>{what}, because there are more than {LARGEST_SYSTEM} speeds; see {instead}.</p>"


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _verbatim(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = f"<thead>{_row(header, 'th')}</thead>" if header else ""
    body = "".join(_row(row, "td") for row in rows)
    return f'<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'


def _row(cells: Sequence[str], tag: str) -> str:
    marked = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{marked}</tr>"
