"""The documentation is true: its code runs, its links lead somewhere, its tables are what the code
says."""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from click.testing import CliRunner

import catalogue
import mechgraph as mg
import notebooks
import support
from mechgraph import cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL_PAGES = [*PAGES, ROOT / "CHANGELOG.md", *sorted((ROOT / "benchmarks").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
ADDING = ROOT / "docs" / "adding.md"


def name_of(path):
    return str(path.relative_to(ROOT))


# --- code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page != ADDING and BLOCK.search(page.read_text())],
    ids=name_of,
)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """All blocks of a page in one namespace; a block that is followed by a text block must print
    just that."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text, namespace = page.read_text(), {"__name__": "page"}
    for block in BLOCK.finditer(text):
        lines_before = text.count("\n", 0, block.start()) + 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * lines_before + block[1], page, "exec"), namespace)
        if block[2] is not None:
            assert printed.getvalue().rstrip() == block[2].rstrip()


def test_notebooks_are_what_their_pages_say():
    """Cell by cell: the code of a notebook is that of the page, which runs above, and so is what it
    prints."""
    for path in (ROOT / "docs").glob("*.ipynb"):
        page = path.with_suffix(".md").read_text()
        assert path.read_text() == notebooks.notebook(page), (
            f"python docs/notebooks.py docs/{path.stem}.md > docs/{path.name}"
        )
        cells = json.loads(path.read_text())["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert ["".join(cell["source"]) + "\n" for cell in code] == [
            b[1] for b in BLOCK.finditer(page)
        ]
        assert len(code) > 5
        assert not any("```" in "".join(cell["source"]) for cell in cells)
    assert (ROOT / "docs" / "the-same-disc.ipynb").exists()


def test_adding_touches_one_file_and_one_list(tmp_path):
    """The six new files and six entries of the page, applied to a copy of the package; then the
    page's own check."""
    text = ADDING.read_text()
    shutil.copytree(
        ROOT / "src" / "mechgraph",
        tmp_path / "src" / "mechgraph",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    files = re.findall(r"^```python\n# (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for path, content in files:
        assert not (tmp_path / path).exists(), path
        (tmp_path / path).write_text(content)
    entries = re.findall(
        r"^The entry, in `(\S+)`.*?((?:\n```diff\n.*?\n```\n)+)", text, re.MULTILINE | re.DOTALL
    )
    assert len(files) == 6 + 1  # and the check
    assert len(entries) == 6
    assert all(len(content.splitlines()) < 100 for _, content in files[:6])
    for path, hunks in entries:
        apply_hunks(tmp_path / path, re.findall(r"```diff\n(.*?)\n```", hunks, re.DOTALL))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [sys.executable, "check.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def apply_hunks(path, hunks):
    """Replace the lines that a hunk keeps or removes by those that it keeps or adds."""
    text = path.read_text()
    for hunk in hunks:
        lines = hunk.splitlines()
        old, new = (
            "\n".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +")
        )
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


@pytest.mark.slow
def test_benchmark_runs_small_sizes():
    command = [sys.executable, str(ROOT / "benchmarks" / "derivation.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("###") == 3


@pytest.mark.slow
def test_operations_of_the_formalisms_are_those_of_their_page():
    command = [sys.executable, str(ROOT / "benchmarks" / "formalisms.py"), "--counts"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


COMMANDS = re.findall(
    r"^mechgraph (.*?)(?: +#.*)?$", (ROOT / "README.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_readme_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.main, command.split())
    assert done.exit_code == 0, done.output


def test_commands_of_their_page_run(tmp_path, monkeypatch):
    """One after the other in one folder; demo and figures have tests of their own."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "command-line.md").read_text()
    lines = [
        line
        for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
    ]
    lines = [line for line in lines if line.split()[1] not in ("demo", "figures")]
    assert len(lines) > 18
    for line in lines:
        command, _, target = line.partition(" > ")
        done = CliRunner().invoke(cli.main, shlex.split(command)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
        if target:
            Path(target).write_text(done.output)
    assert json.loads(Path("mechgraph.schema.json").read_text())


def test_every_command_has_an_example_that_is_on_the_page():
    page = (ROOT / "docs" / "command-line.md").read_text()
    for name in cli.main.commands:
        text = CliRunner().invoke(cli.main, [name, "--help"]).output
        (example,) = re.findall(r"Example: (mechgraph .*)", text)
        assert f"\n{example}\n" in page, example
        assert f"`{name}`" in page or name == "demo"


def test_times_of_the_readme_are_those_of_the_results():
    comparison = (ROOT / "README.md").read_text().split("## How it compares")[1].split("\n## ")[0]
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text()
    times = re.findall(r"\d+\.\d+ (?:s|µs)\b", comparison)
    assert len(times) > 20
    for quoted in [*times, *re.findall(r"\d{4}-\d\d-\d\d", comparison)]:
        assert re.search(rf"(?<![\d.]){re.escape(quoted)}", results), quoted


def test_workflow_runs_the_two_commands_of_the_readme():
    readme, workflow = (
        (ROOT / "README.md").read_text(),
        (ROOT / ".github" / "workflows" / "test.yml").read_text(),
    )
    for command in ("make demo", "make test"):
        assert command in readme
        assert f"run: {command}\n" in workflow
        assert f"{command.split()[1]}:" in (ROOT / "Makefile").read_text()


# --- links and tables -----------------------------------------------------------------------------


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_relative_links_resolve(page):
    for target in re.findall(
        r"\]\(([^)\s]+)\)|<img[^>]* src=\"([^\"]+)\"", without_code(page.read_text())
    ):
        link = target[0] or target[1]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        found = page if not path else (page.parent / path).resolve()
        assert found.exists(), link
        assert not anchor or anchor in anchors(found), link


def without_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", text, flags=re.DOTALL)


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_pages_speak_of_the_project_alone(page):
    assert not re.search(r"(?<![\w.])/(work|tmp|root|home|Users)/", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_math_survives_markdown(page):
    """Displays stand in math fences; inline formulas are closed and hold no backslash that Markdown
    would eat."""
    text = without_code(page.read_text())
    assert "$$" not in text
    for paragraph in re.split(r"\n\n|\n\|", text):
        assert paragraph.count("$") % 2 == 0, paragraph
        for formula in paragraph.split("$")[1::2]:
            assert not re.search(r"\\[^A-Za-z ]", formula), formula


@pytest.mark.slow
def test_support_page_is_what_the_code_says():
    assert (ROOT / "docs" / "support.md").read_text() == support.page(), (
        "python docs/support.py > docs/support.md"
    )


@pytest.mark.slow
def test_gallery_page_is_what_the_gallery_says():
    assert (ROOT / "docs" / "gallery.md").read_text() == catalogue.page(), (
        "python docs/catalogue.py > docs/gallery.md"
    )


def test_every_public_name_is_in_the_reference():
    """In docs/reference: ``::: mechgraph.Name``, or a function of expressions in its table."""
    text = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    for name in mg.__all__:
        assert re.search(rf"(?:^::: mechgraph|`mg)\.{name}\b", text, re.MULTILINE), name


def test_every_page_is_in_the_navigation():
    """The website's, in mkdocs.yml; pages that lie elsewhere are put there by docs/website.py."""
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert len(listed) == len(set(listed))
    assert pages <= set(listed), pages - set(listed)
    assert set(listed) - pages <= {
        "index.md",
        "contributing.md",
        "changelog.md",
        "license.md",
        "benchmarks/index.md",
        "benchmarks/results.md",
    }


def test_architecture_names_every_module():
    text = (ROOT / "docs" / "architecture.md").read_text()
    package = ROOT / "src" / "mechgraph"
    rooms = [f"{p.name}/" for p in package.iterdir() if p.is_dir() and any(p.glob("*.py"))]
    for name in [*rooms, *(p.name for p in package.glob("*.py") if not p.name.startswith("__"))]:
        assert f"`{name}`" in text, name


def test_every_formalism_has_its_page():
    for name in mg.FORMALISMS:
        assert (ROOT / "docs" / "formalisms" / f"{name}.md").exists(), name


# --- claims of the formalisms' pages --------------------------------------------------------------


def driven_chain():
    """Two hinges on a base that moves and turns, and a length in between that time drives."""
    system = mg.System("driven", gravity=(0, 0, -9.8))
    t = system.time
    base, slide = system.frame("base"), system.frame("slide")
    system.joint(
        "drive",
        system.ground,
        base,
        [mg.move("x", mg.sin(t)), mg.rot("z", t**2 / 2), mg.rot("x", 0.3 * t)],
    )
    A, B = (
        system.body(name, mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.2, 0.3, 0.4)) for name in "AB"
    )
    system.revolute("a", base, A, axis="y")
    system.joint("stretch", A, slide, [mg.move("x", 1 + 0.2 * mg.sin(3 * t))])
    system.revolute("b", slide, B, axis="x")
    return system


def at_state(equations, *expressions):
    s = equations.terms.symbols
    values = ca.Function("f", [s.q, s.t], list(expressions))([0.4, -0.7], 0.9)
    return [np.array(value) for value in values]


def test_appell_K_is_christoffel_and_D_the_rate_of_A():
    """K_ij,k = ½ (∂_i A_jk + ∂_j A_ik − ∂_k A_ij) and D + Dᵀ = 2 ∂A/∂t."""
    equations = driven_chain().equations("appell", coefficients="probing")
    A, s, n = equations.appell.A.expression, equations.terms.symbols, len(equations.speeds)
    *slopes, rate = at_state(
        equations, *(ca.reshape(ca.jacobian(ca.vec(A), x), n, n) for x in (s.q[0], s.q[1], s.t))
    )
    dA = np.stack(slopes)  # dA[i] = ∂A/∂q_i
    christoffel = (
        np.einsum("ijk->ijk", dA) + np.einsum("jik->ijk", dA) - np.einsum("kij->ijk", dA)
    ) / 2
    K, D = (c([0.4, -0.7], t=0.9) for c in (equations.appell.K, equations.appell.D))
    assert np.abs(K - christoffel).max() < 1e-13 * np.abs(christoffel).max() + 1e-14
    assert np.abs(rate).max() > 0.1  # the inner joint is driven, so the fact says something
    assert np.abs(D + D.T - 2 * rate).max() < 1e-12


def test_explicit_lagrange_gives_appells_H_and_D():
    """H_b = −∂_t α_b − ½ ∂_b α₀, and D_cb = ∂_b α_c − ∂_c α_b while ∂A/∂t = 0."""
    system = mg.System("driven base", gravity=(0, 0, -9.8))
    base = system.frame("base")
    system.joint(
        "drive",
        system.ground,
        base,
        [mg.move("x", mg.sin(system.time)), mg.rot("z", system.time**2 / 2)],
    )
    A, B = (
        system.body(name, mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.2, 0.3, 0.4)) for name in "AB"
    )
    system.revolute("a", base, A, axis="y")
    system.revolute("b", A, B, axis="x", at=(1, 0, 0))
    explicit, appell = system.equations("lagrange", form="explicit"), system.equations("appell")
    s = explicit.terms.symbols
    alpha_0, alpha_b = explicit.lagrange.alpha_0.expression, explicit.lagrange.alpha_b.expression
    slope = ca.jacobian(alpha_b, s.q)  # slope[c, b] = ∂_b α_c
    H, D = at_state(
        explicit, -ca.jacobian(alpha_b, s.t) - ca.gradient(alpha_0, s.q) / 2, slope - slope.T
    )
    assert np.abs(appell.appell.H([0.4, -0.7], t=0.9) - H.ravel()).max() < 1e-13
    assert np.abs(appell.appell.D([0.4, -0.7], t=0.9) - D).max() < 1e-13


@pytest.mark.parametrize("n", [1, 2, 3])
def test_probing_takes_as_many_values_as_the_page_says(n, monkeypatch):
    """1 + 4n + 2n² + ½ n (n − 1)(n + 2) evaluations of S."""
    system, calls = mg.System("chain"), []
    parent = system.ground
    for k in range(n):
        body = system.body(f"body {k}", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
        system.revolute(f"q{k}", parent, body)
        parent = body
    coefficient = system.equations("appell", coefficients="probing").appell.A
    monkeypatch.setattr(ca, "Function", counting(ca.Function, calls))
    _ = coefficient.expression
    assert len(calls) == 1 + 4 * n + 2 * n**2 + n * (n - 1) * (n + 2) // 2


def counting(function, calls):
    class Counting:
        def __init__(self, *arguments):
            self.function = function(*arguments)

        def call(self, *arguments):
            calls.append(1)
            return self.function.call(*arguments)

    return Counting
