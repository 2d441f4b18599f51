"""Repeats in a program: the same operations, connected in the same way, on other operands. They are
printed once.

The equations of a large mechanism are written body after body by the same formulas, and so is its
straight-line program, though nothing in it says where a body begins. What is repeated is found on
the program alone:

1. ``units``: each operation, with where its operands come from, as arrays; a sine and the cosine of
   one angle are one.
2. ``parse``: operations become symbols; pairs of neighbours that occur often are joined to new
   symbols, and again. Which of two overlapping pairs is joined depends only on what the pairs are,
   so equal stretches are parsed alike.
3. ``rolled``: stretches of one symbol are a kind of block, to be printed once and run over a table
   of operands. What is rare or short is left as straight-line code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graph.program import LEAVES, Program, Value

NOTHING, CONSTANT, INPUT, FAR, VALUE = range(5)  # what an operand is; a value may be far back

BLOCK = 800  # operations in a block of straight-line code
ROLLED = 20_000  # operations from which on repeats are looked for
LONGEST = 1000  # operations in a repeated block
OFTEN = 4  # times that a repeated block occurs at least
SHORT = 30  # shorter repeated blocks than this are dissolved …
LOOSE = 3000  # … as long as that adds no more operations than this
# mean length of repeated blocks from which on they are used: shorter ones lose more by going
# through memory
WORTH = 100
NEAR = 4  # operations back up to which the distance of an operand distinguishes operations


@dataclass(frozen=True)
class Units:
    """Operations in order. Value 2k is the result of unit k, and 2k + 1 the cosine if the unit is a
    pair ("sincos").

    ``kind[k, i]`` says what operand i is; ``source[k, i]`` is the number of that value or the place
    of that input, ``number[k, i]`` that constant.
    """

    names: list[str]
    operation: np.ndarray  # index in names
    kind: np.ndarray
    source: np.ndarray
    number: np.ndarray
    place: dict[int, int]  # of each of the program's computed values: its number here

    def __len__(self) -> int:
        return len(self.operation)


@dataclass(frozen=True)
class Blocks:
    """Units ``start[b]`` … ``start[b + 1] - 1`` are block b; blocks of the same ``kind`` differ
    only in their operands."""

    start: np.ndarray
    kind: np.ndarray

    def inner(self, code: Units) -> np.ndarray:
        """Which operands are values of the same block, the same one in every block of the kind."""
        length = np.diff(self.start)
        begin = np.repeat(self.start[:-1], length)
        _, first, kind = np.unique(self.kind, return_index=True, return_inverse=True)
        model = np.repeat(self.start[first][kind], length) + np.arange(len(code)) - begin
        local = code.source - 2 * begin[:, None]
        right = (code.kind == VALUE) & (local >= 0) & (local == local[model])
        wrong = np.column_stack(
            [np.bincount(model[~column], minlength=len(code)) for column in right.T]
        )
        return wrong[model] == 0

    @property
    def kinds(self) -> int:
        """How many kinds of blocks there are."""
        return int(self.kind.max(initial=-1)) + 1

    @property
    def printed(self) -> int:
        """How many operations are printed: those of each kind once."""
        _, first = np.unique(self.kind, return_index=True)
        return int(np.diff(self.start)[first].sum())

    @property
    def repeated_length(self) -> float:
        """The mean length of blocks whose kind occurs more than once, zero if there are none."""
        _, kind, count = np.unique(self.kind, return_inverse=True, return_counts=True)
        lengths = np.diff(self.start)[count[kind] > 1]
        return float(lengths.mean()) if len(lengths) else 0.0


def units(program: Program) -> Units:
    """The operations of a program as arrays."""
    partners = paired(program.values)
    computed = [n for n, value in enumerate(program.values) if value[0] not in LEAVES]
    firsts = [n for n in computed if partners.get(n, n) >= n]  # of a pair only the first
    place: dict[int, int] = {}
    for k, n in enumerate(firsts):
        swapped = n in partners and program.values[n][0] == "cos"
        place[n] = 2 * k + swapped
        if n in partners:
            place[partners[n]] = 2 * k + 1 - swapped
    return _arrays(program, firsts, partners, place)


def paired(values: list[Value]) -> dict[int, int]:
    """For each sine and cosine of the same value, the number of the other."""
    found = {value: n for n, value in enumerate(values) if value[0] in ("sin", "cos")}
    other = {"sin": "cos", "cos": "sin"}
    return {n: found[other[op], a] for (op, a), n in found.items() if (other[op], a) in found}


def _arrays(
    program: Program, firsts: list[int], partners: dict[int, int], place: dict[int, int]
) -> Units:
    values, offsets = program.values, np.concatenate(([0], np.cumsum(program.sizes))).tolist()
    words = ["sincos" if n in partners else values[n][0] for n in firsts]
    names = list(dict.fromkeys(words))
    index = {name: k for k, name in enumerate(names)}
    # what each value is as an operand; one more at the end stands for an operand that is missing
    kind = [{"constant": CONSTANT, "input": INPUT}.get(value[0], VALUE) for value in values]
    source = [
        offsets[value[1]] + value[2] if value[0] == "input" else place.get(n, 0)
        for n, value in enumerate(values)
    ]
    number = [value[1] if value[0] == "constant" else 0.0 for value in values]
    operands = np.array([(*values[n][1:], -1)[:2] for n in firsts], np.int64).reshape(-1, 2)
    return Units(
        names,
        operation=np.array([index[word] for word in words], np.int64),
        kind=np.array([*kind, NOTHING])[operands],
        source=np.array([*source, 0])[operands],
        number=np.array([*number, 0.0])[operands],
        place=place,
    )


# --- where to cut ---------------------------------------------------------------------------------


def straight(count: int) -> Blocks:
    """Straight-line code, each block of its own kind."""
    start = np.append(np.arange(0, count, BLOCK), count)
    return Blocks(start, np.arange(len(start) - 1))


def rolled(code: Units, results: np.ndarray) -> Blocks:
    """Repeated blocks where the program has them, else straight-line code; ``results[k]`` is how
    many results value k is."""
    if len(code) < ROLLED:
        return straight(len(code))
    found = _loosened(parse(_symbols(code, results), OFTEN, LONGEST))
    return found if found.repeated_length >= WORTH else straight(len(code))


def _symbols(code: Units, results: np.ndarray) -> np.ndarray:
    """A symbol for each operation: what it is, what its operands are (and how far back, if near),
    whether it is a result."""
    distance = 2 * np.arange(len(code))[:, None] - code.source
    far = (code.kind == VALUE) & (distance > 2 * NEAR)
    what = np.where(far, FAR, np.where(code.kind == VALUE, VALUE + distance + 1, code.kind))
    base = VALUE + 2 * NEAR + 3
    operation = (code.operation * base + what[:, 0]) * base + what[:, 1]
    rows = np.column_stack([operation, results.reshape(-1, 2)])
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def parse(symbols: np.ndarray, often: int, longest: int) -> Blocks:
    """Stretches and their symbols: neighbours whose pair occurs often are joined, the most frequent
    pairs first.

    Of pairs that overlap, the one that is joined is that of the higher rank, and ranks belong to
    what the pairs are: so the same stretch is cut alike wherever it stands, but for its ends.
    """
    random = np.random.default_rng(0)
    starts, end = np.arange(len(symbols)), len(symbols)
    while len(symbols) > 1:
        pair = symbols[:-1] * (symbols.max() + 1) + symbols[1:]
        pairs, which, count = np.unique(pair, return_inverse=True, return_counts=True)
        rank = np.empty(len(pairs), np.int64)
        rank[np.lexsort((random.permutation(len(pairs)), count))] = np.arange(len(pairs))
        length = np.diff(np.append(starts, end))
        # in a row of equal symbols every second pair overlaps
        enough = often * (1 + (symbols[:-1] == symbols[1:]))
        allowed = (count[which] >= enough) & (length[:-1] + length[1:] <= longest)
        joined = _peaks(np.where(allowed, rank[which], -1))
        if not len(joined):
            break
        symbols = symbols.copy()
        symbols[joined] = symbols.max() + 1 + which[joined]
        left = np.ones(len(symbols), bool)
        left[joined + 1] = False
        symbols, starts = np.unique(symbols[left], return_inverse=True)[1], starts[left]
    return Blocks(np.append(starts, end), symbols)


def _peaks(rank: np.ndarray) -> np.ndarray:
    """Places where a rank (not −1) is higher than at both neighbours; where the same rank stands in
    a row, every second place."""
    before, after = np.append(-1, rank[:-1]), np.append(rank[1:], -1)
    first = np.flatnonzero(np.append(True, rank[1:] != rank[:-1]))  # of each row of equal ranks
    row = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(rank))))
    lower = np.zeros(len(first), bool)
    lower[row[(before > rank) | (after > rank)]] = True
    place = np.arange(len(rank))
    return np.flatnonzero((rank >= 0) & ~lower[row] & ((place - first[row]) % 2 == 0))


def _loosened(blocks: Blocks) -> Blocks:
    """The blocks with rare ones, and some short ones, made straight-line code with their
    neighbours."""
    length = np.diff(blocks.start)
    _, first, kind, count = np.unique(
        blocks.kind, return_index=True, return_inverse=True, return_counts=True
    )
    adds = np.where(length[first] < SHORT, (count - 1) * length[first], np.inf)
    order = np.argsort(adds, kind="stable")
    loose = count < OFTEN
    loose[order[np.cumsum(adds[order]) <= LOOSE]] = True
    return _merged(blocks.start, kind, loose[kind])


def _merged(start: np.ndarray, kind: np.ndarray, loose: np.ndarray) -> Blocks:
    """The blocks with loose neighbours joined to blocks of limited length, each of its own kind."""
    starts, kinds, fresh = [0], [], int(kind.max(initial=0)) + 1
    for k, end in enumerate(start[1:].tolist()):
        if loose[k] and k and loose[k - 1] and end - starts[-2] <= BLOCK:
            starts[-1] = end
            continue
        starts.append(end)
        kinds.append(fresh if loose[k] else int(kind[k]))
        fresh += 1
    return Blocks(np.array(starts), np.unique(kinds, return_inverse=True)[1])
