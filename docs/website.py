"""Hooks of MkDocs (``make docs``): what the website has beside the pages of this folder.

Pages are written for any reader of Markdown. On the way to the site, files that lie elsewhere
(README, the gallery, modules that are linked) become pages, formulas are typeset by KaTeX, so that
browsers need no script, and links follow.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from pymdownx.slugs import slugify

import mechgraph as mg

ROOT = Path(__file__).resolve().parents[1]
DOCS, PICTURES = ROOT / "docs", ROOT / "build" / "pictures"
KATEX = ROOT / "build" / "npm" / "node_modules" / "katex"
TYPESET = """
const katex = require(process.argv[1]), formulas = JSON.parse(require("fs").readFileSync(0));
const html = ([text, displayMode]) => katex.renderToString(text, { displayMode, strict: "ignore" });
console.log(JSON.stringify(formulas.map(html)));
"""
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "license.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/RESULTS.md": "benchmarks/results.md",
    "benchmarks/cost.svg": "benchmarks/cost.svg",
}
FONTS, OTHER_FONTS = (
    "dist/fonts/*.woff2",
    re.compile(r",url\([^)]*\.(?:woff|ttf)\) format\([^)]*\)"),
)
LANGUAGES = {".py": "python", ".c": "c", ".h": "c"}
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)\s:#]+)(?=[)#])")
DISPLAY = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FETCHED = re.compile(
    r"<(?:script|img|source|iframe|video|link)\b[^>]* (?:src|href)=\"(?:https?:)?//"
)
INLINE = re.compile(r"\$([^$]+)\$")


# --- pages ----------------------------------------------------------------------------------------


def place(path: Path) -> str | None:
    """Where a file of the repository is on the site, if it is there."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    if path.suffix in LANGUAGES:
        return (
            f"{name.removesuffix('.py')}.md" if name.startswith("gallery/") else f"code/{name}.md"
        )
    return ELSEWHERE.get(name)


def linked(path: Path, text: str) -> Iterator[Path]:
    """The files of the repository that a page links to."""
    for part in CODE.split(text):
        yield from ((path.parent / link).resolve() for link in LINK.findall(part))


def code_page(path: Path) -> str:
    """A module of the project as a page that the search leaves out."""
    name, fence = path.relative_to(ROOT).as_posix(), f"```{LANGUAGES[path.suffix]}\n"
    head = "---\nsearch:\n  exclude: true\n---\n"
    return f"{head}# {name.rpartition('/')[2]}\n\n`{name}`\n\n{fence}{path.read_text('utf-8')}```\n"


def gallery_page(name: str) -> str:
    """An example: what it is, what it looks like, how it is run, and its file."""
    example = mg.gallery.load(name)
    title, _, more = example.title.partition(": ")
    shown = f"![{title} in motion](../{PICTURES.name}/{name}.webp){{ .moving }}\n\n"
    return (
        f"# {title}\n\n{more[:1].upper() + more[1:]}\n\n"
        f"{shown if (PICTURES / f'{name}.webp').exists() else ''}"
        f"```sh\nmechgraph run {name} --view {name}.html\n"
        f"mechgraph gallery {name}    # its check\n```\n\n"
        f"```python\n{example.path.read_text('utf-8')}```\n"
    )


@cache
def pages() -> dict[str, str]:
    """The text of every page that does not lie in docs, by its place."""
    found = {
        uri: (ROOT / name).read_text("utf-8") for name, uri in ELSEWHERE.items() if ".md" in uri
    }
    found["license.md"] = f"# Licence\n\n{found['license.md']}"
    found |= {f"gallery/{name}.md": gallery_page(name) for name in mg.gallery.names()}
    sources = [*DOCS.rglob("*.md"), *(ROOT / name for name in ELSEWHERE if name.endswith(".md"))]
    for page in sources:
        for path in linked(page, page.read_text("utf-8")):
            uri = place(path)
            if uri and uri.startswith("code/"):
                found[uri] = code_page(path)
    return found


@cache
def origins() -> dict[str, Path]:
    """Where a page of the site comes from, if it does not lie in docs."""
    return {uri: ROOT / name for name, uri in ELSEWHERE.items()}


def on_config(config: Any) -> Any:
    """Anchors are those of other readers of Markdown."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what does not lie in docs."""
    for uri, text in pages().items():
        level = InclusionLevel.NOT_IN_NAV if "/" in uri else InclusionLevel.UNDEFINED
        files.append(File.generated(config, uri, content=text, inclusion=level))
    for path in [ROOT / "benchmarks/cost.svg", *PICTURES.glob("*.webp"), *KATEX.glob(FONTS)]:
        uri = f"{path.parent.name}/{path.name}"
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    style = (KATEX / "dist" / "katex.min.css").read_text("utf-8")
    files.append(File.generated(config, "katex.css", content=OTHER_FONTS.sub("", style)))
    return files


# --- what a page says -----------------------------------------------------------------------------


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with a change of all but its code."""
    pieces = [*CODE.finditer(text)]
    ends = [0, *(piece.end() for piece in pieces)]
    starts = [*(piece.start() for piece in pieces), len(text)]
    prose = [change(text[end:start]) for end, start in zip(ends, starts, strict=True)]
    return "".join(a + piece[0] for a, piece in zip(prose, pieces, strict=False)) + prose[-1]


def typeset(formulas: list[tuple[str, bool]]) -> list[str]:
    """Formulas, displayed or in the text, as HTML; what KaTeX does not know is an error."""
    command = ["node", "-e", TYPESET, str(KATEX / "dist" / "katex.js")]
    done = subprocess.run(command, input=json.dumps(formulas), capture_output=True, text=True)
    if done.returncode:
        raise ValueError(re.findall(r"^ParseError.*", done.stderr, re.MULTILINE) or done.stderr)
    found: list[str] = json.loads(done.stdout)
    return found


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links lead to pages of the site; a number in brackets stands for each formula."""
    uri, formulas = page.file.src_uri, []
    if uri.startswith(("code/", "gallery/")):
        return markdown
    origin = origins().get(uri, DOCS / uri)

    def displayed(match: re.Match[str]) -> str:
        formulas.append((match[1], match.re is DISPLAY))
        return f"⟦{len(formulas) - 1}⟧"

    def follow(match: re.Match[str]) -> str:
        target = place((origin.parent / match[1]).resolve())
        return match[1] if target is None else relpath(target, Path(uri).parent)

    text = DISPLAY.sub(displayed, markdown)
    text = outside_code(text, lambda part: INLINE.sub(displayed, LINK.sub(follow, part)))
    page.meta["formulas"] = formulas
    return text


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Put the formulas where their numbers stand."""
    formulas = page.meta.pop("formulas", [])
    if not formulas:
        return html
    found = typeset(formulas)
    return re.sub(r"⟦(\d+)⟧", lambda match: found[int(match[1])], html)


# --- what is checked ------------------------------------------------------------------------------


def on_post_build(config: Any) -> None:
    """No page fetches anything from elsewhere."""
    site = Path(config.site_dir)
    for page in site.rglob("*.html"):
        if FETCHED.search(page.read_text("utf-8")):
            raise ValueError(f"{page.relative_to(site)} fetches something from elsewhere")
    for style in site.rglob("*.css"):
        if re.search(r"url\([\"']?(?:https?:)?//", style.read_text("utf-8")):
            raise ValueError(f"{style.relative_to(site)} fetches something from elsewhere")
