"""A page of the documentation as a Jupyter notebook: its text, its code, and what the code prints.

    python docs/notebooks.py docs/the-same-disc.md > docs/the-same-disc.ipynb

The page is the source; a notebook is made from it and never edited, so that they cannot drift.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CODE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
DISPLAY = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(page: str) -> str:
    """The notebook of a Markdown page, as JSON (nbformat 4.5).

    >>> json.loads(notebook("# Title\\n"))["cells"][0]["source"]
    ['# Title']
    """
    cells = [{"id": f"cell-{k}", **cell} for k, cell in enumerate(_cells(page), start=1)]
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _cells(page: str) -> Iterator[dict[str, Any]]:
    end = 0
    for block in CODE.finditer(page):
        yield from _text(page[end : block.start()])
        yield _code(*block.groups())
        end = block.end()
    yield from _text(page[end:])


def _text(markdown: str) -> Iterator[dict[str, Any]]:
    """Displays stand between dollars in notebooks."""
    text = DISPLAY.sub(lambda display: f"$$\n{display[1]}$$", markdown).strip()
    if text:
        yield {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _code(source: str, printed: str | None) -> dict[str, Any]:
    stream = {"name": "stdout", "output_type": "stream", "text": _lines(printed or "")}
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [stream] if printed else [],
        "source": _lines(source.rstrip()),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    print(notebook(Path(sys.argv[1]).read_text(encoding="utf-8")), end="")
