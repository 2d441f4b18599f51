"""LaTeX of gallery systems, in every formalism, compiles and keeps to the width of the page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import mechgraph as mg
from mechgraph import gallery
from mechgraph.show.latex import WIDTH, broken, width

PAGE = "\\documentclass{article}\\usepackage{amsmath}\\begin{document}%s\\end{document}"
OUT = 10.0  # points that a line may be too wide
SAMPLE = {
    "fourbar": ["absolute", "maggi", "noc"],
    "garifulin": ["appell"],
    "double_pendulum": ["points", "hamilton"],
    "rolling_disc": ["kane"],
}
with_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")


def compiled(source: str, folder: Path) -> str:
    """What LaTeX says of a page."""
    (folder / "page.tex").write_text(PAGE % source)
    command = ["pdflatex", "-draftmode", "-interaction=nonstopmode", "page.tex"]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
    return (folder / "page.log").read_text(errors="replace")


def assert_fits(source: str, folder: Path) -> None:
    log = compiled(source, folder)
    assert not re.findall(r"^! .*", log, re.MULTILINE)
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert max(too_wide, default=0.0) < OUT


def sources(name: str, formalism: str) -> list[str]:
    """The equations, and the formalism's own quantities, if it serves here."""
    try:
        equations = gallery.load(name).system().equations(formalism)
        found = [equations.latex()]
        if equations.terms.coefficients:
            found.append(getattr(equations, formalism.replace("-", "_")).latex())
    except mg.UnsupportedError:
        return []
    return found


EVERY = [(name, f) for name in gallery.names() for f in mg.FORMALISMS]
CHOSEN = {(name, formalism) for name, some in SAMPLE.items() for formalism in some}


@with_latex
@pytest.mark.parametrize(
    ("name", "formalism"),
    [pytest.param(*c, marks=[] if c in CHOSEN else pytest.mark.slow) for c in EVERY],
)
def test_latex_compiles_and_fits(name: str, formalism: str, tmp_path) -> None:
    for source in sources(name, formalism):
        assert_fits(source, tmp_path)


@with_latex
def test_widths_are_those_of_latex(tmp_path) -> None:
    """No formula is much wider than it is taken to be."""
    formulas = [
        r"\theta_{1} + \dot{\theta}_{2} - \mathrm{elbow}_{1} \sin{\left(x + y \right)}",
        r"\frac{a + b + c + d}{2 m} + \left(x^{2} + y^{2}\right)^{3}",
        r"1234.5678 \cdot 10^{-5} \operatorname{atan}_{2}{\left(y,x \right)} + M W m w",
        r"\cos{\left(2 \alpha \right)} \cos{\left(\beta - \gamma \right)} \sqrt{l^{2} - 4}",
    ]
    boxes = [rf"\setbox0\hbox{{$\displaystyle {f}$}}\message{{W=\the\wd0.}}" for f in formulas]
    log = compiled("".join(boxes), tmp_path).replace("\n", "")
    true = [float(points) for points in re.findall(r"W=([\d.]+)pt", log)]
    assert len(true) == len(formulas)
    for formula, points in zip(formulas, true, strict=True):
        assert 0.95 * points < width(formula) < 1.35 * points + 5, formula


def test_long_formulas_are_broken_where_brackets_are_least_deep() -> None:
    terms = [rf"a_{{{k}}} \left(b_{{{k}}} + c_{{{k}}}\right)" for k in range(20)]
    lines = [*broken(" + ".join(terms), WIDTH)]
    assert len(lines) > 2
    assert all(width(line) <= WIDTH for line in lines)
    assert all(line.count("(") == line.count(")") for line in lines)
    assert "".join(line.removeprefix("{} ") for line in lines).count("a_") == 20


def test_what_has_nothing_of_its_own_says_so() -> None:
    equations = gallery.load("double_pendulum").system().equations("newton-euler")
    with pytest.raises(mg.ArgumentError, match="newton-euler has no quantities of its own"):
        equations.newton_euler.latex()
