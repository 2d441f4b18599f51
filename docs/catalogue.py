"""The gallery as a page: ``python docs/catalogue.py`` prints ``docs/gallery.md`` from the
gallery's files."""

from __future__ import annotations

from mechgraph.gallery import Example, load, names

HEAD = """# Gallery

Example systems, one readable file each. Every file builds its system, says where its data come \
from, and has a check of its own
against what is known from elsewhere. `mechgraph.gallery.load(name)` reads one; run as a script, \
a file describes its system
and runs its check. This page is printed by `python docs/catalogue.py`; a test compares \
the two.

Mobility is the number of independent speeds at the start; where it exceeds speeds less rows, rows \
are redundant there.

| system | what it is | bodies | loops | speeds | constraint rows | mobility |
| --- | --- | --- | --- | --- | --- | --- |"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_row(load(name)) for name in names())]) + "\n"


def _row(example: Example) -> str:
    system = example.system()
    equations = system.equations()
    q, u = equations.assemble(example.start, guess=example.guess)
    counts = (
        sum(not body.weightless for body in system.bodies.values()),
        len(system.topology().loops),
        len(equations.speeds),
        len(equations.constraints),
        equations.mobility(q, u=u),
    )
    link = f"[{example.name}](../gallery/{example.path.name})"
    title = example.title.rstrip(".").replace("|", "\\|")
    return f"| {' | '.join([link, title, *map(str, counts)])} |"


if __name__ == "__main__":
    print(page(), end="")
