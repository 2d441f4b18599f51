"""Model files that went wrong: those of the gallery, altered at random.

    python tests/fuzz/files.py --seed 0 --count 100000

Each is a system, or an error of the family in ``errors.py`` that tells a line; nothing else is
raised, nothing is run, and none takes longer than ``LIMIT`` seconds of the processor.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from functools import cache

import mechgraph as mg
from mechgraph import gallery
from mechgraph.formats import model_file

LIMIT = 5.0
MODELS = (
    "a02_fourbar", "bicycle", "bogie", "branched_tree", "chaplygin_sleigh", "five_bar",
    "newtons_cradle", "rattleback", "slider_crank_3d", "whitworth",
)  # fmt: skip
ODD = (
    "", "~", "null", "true", "nan", ".inf", "1e999", "-1", "0", "1e-300", "9" * 400, "[]", "{}",
    "[[[[1]]]]", "'", '"', "\\", "\t", "\x00", "\ud800", "&a", "*a", "!!python/name:os.system",
    "<<: *a",
    "__import__('os').system('true')", "ground", "time", "x", "sin(", "sin()", "if(1,2)", "((((",
    "a = 1; a", "position(ground)", "position(nobody)[2]", "coordinate(1)", "1 +", "1/0", "2^1024",
    "[1, 2, 3]", "[1, 2]", "axis(ground, z)", "speed(time)", "5 mm", "5 furlong", "---", "...", "%",
    "[" * 100, "{a: " * 60, "-" * 200, "(" * 5000, "1+" * 3000 + "1", "k" * 5000, "é", "日本", "🙂",
)  # fmt: skip


@cache
def texts() -> list[tuple[str, bool]]:
    """Good files, with whether each is JSON."""
    systems = [gallery.load(name).system() for name in MODELS]
    return [(model_file.write(s, as_json), as_json) for s in systems for as_json in (False, True)]


def altered(seed: int) -> tuple[str, bool]:
    """A file with a few alterations."""
    chance = random.Random(seed)
    text, is_json = chance.choice(texts())
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        text = chance.choice(ALTERATIONS)(text, chance)
    return text, is_json


def _place(text: str, chance: random.Random) -> tuple[int, int]:
    """A word, number, sign or text of a file."""
    found = list(re.finditer(r"[\w.']+|\S", text)) or [re.match("", text)]
    token = chance.choice(found)
    return token.span() if token else (0, 0)


def _replaced(text: str, chance: random.Random) -> str:
    a, b = _place(text, chance)
    return text[:a] + chance.choice(ODD) + text[b:]


def _inserted(text: str, chance: random.Random) -> str:
    a, _ = _place(text, chance)
    return f"{text[:a]}{chance.choice(ODD)} {text[a:]}"


def _swapped(text: str, chance: random.Random) -> str:
    (a, b), (c, d) = sorted(_place(text, chance) for _ in range(2))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:] if b <= c else text


def _without(text: str, chance: random.Random) -> str:
    a, b = _place(text, chance)
    return text[:a] + text[b:]


def _line_moved(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    line = lines.pop(chance.randrange(len(lines))) if lines else ""
    for _ in range(chance.choice((0, 1, 1, 2))):
        lines.insert(chance.randrange(len(lines) + 1), line)
    return "".join(lines)


def _letter(text: str, chance: random.Random) -> str:
    k = chance.randrange(len(text) + 1)
    return (
        text[:k]
        + chr(chance.choice((chance.randrange(128), chance.randrange(0x2FF))))
        + text[k + 1 :]
    )


def _cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


ALTERATIONS = (
    _replaced,
    _replaced,
    _replaced,
    _inserted,
    _swapped,
    _without,
    _line_moved,
    _letter,
    _cut,
)


def wrong_with(seed: int) -> str | None:
    """What must not be, if it is."""
    text, is_json = altered(seed)
    began = time.process_time()
    try:
        model_file.parse(text, is_json)
    except mg.MechgraphError as error:
        lines = getattr(error, "problems", [])
        if not all(len(line) < 2000 for line in lines):
            return f"a message of {max(map(len, lines))} letters"
    except Exception as error:
        return f"raw {type(error).__name__}: {error}"
    took = time.process_time() - began
    return f"{took:.1f} s" if took > LIMIT else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args()
    found: dict[str, list[int]] = {}
    for seed in range(given.seed, given.seed + given.count):
        wrong = wrong_with(seed)
        if wrong is not None:
            found.setdefault(re.sub(r"\d+", "#", wrong)[:120], []).append(seed)
    for wrong, seeds in found.items():
        print(f"{len(seeds):6d}  {wrong}  {seeds[:5]}")
    print(f"{given.count} files, {sum(map(len, found.values()))} failures")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
