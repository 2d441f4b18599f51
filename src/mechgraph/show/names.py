"""The user's names as people write symbols: in plain text (θ1, θ1') and in LaTeX."""

from __future__ import annotations

import re

GREEK_WORDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
GREEK = dict(zip(GREEK_WORDS.split(), "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True))
LATEX_SPECIAL = {
    "\\": r"\backslash ",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "^": r"\wedge ",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "$": r"\$",
    "~": r"\sim ",
    "'": "'",
    " ": r"\ ",
}


def text_name(name: str) -> str:
    """A name for formulas in plain text: Greek words as letters, no spaces or signs of operations.

    >>> text_name("theta1'"), text_name("crank angle"), text_name("hook.first'")
    ("θ1'", 'crank_angle', "hook.first'")
    """
    joined = re.sub(r"[^\w.']+", "_", name.strip())
    return re.sub(r"[A-Za-z]+", lambda word: GREEK.get(word.group(), word.group()), joined)


def latex_name(name: str) -> str:
    r"""A name as a symbol: primes are dots, Greek words letters, what follows a dot, underscore or
    letter an index.

    >>> print(latex_name("theta1'"), latex_name("elbow"))
    \dot{\theta}_{1} \mathrm{elbow}
    >>> print(latex_name("wrist.first'"), latex_name("ball.wx"))
    \dot{\mathrm{wrist}}_{\mathrm{first}} \mathrm{ball}_{\omega x}
    """
    base, dots = name.rstrip("'"), len(name) - len(name.rstrip("'"))
    first, *rest = re.split(r"[._]", base)
    letters, digits = _split(first)
    indices = [digits, *(_index(part) for part in rest)]
    index = ", ".join(part for part in indices if part)
    symbol = _letters(letters or "q")
    accent = {0: "", 1: r"\dot", 2: r"\ddot"}.get(dots, r"\dddot")
    return (f"{accent}{{{symbol}}}" if accent else symbol) + (f"_{{{index}}}" if index else "")


def _index(part: str) -> str:
    if re.fullmatch(r"w[xyz]", part):  # the speeds of a quaternion are an angular velocity
        return rf"\omega {part[1]}"
    letters, digits = _split(part)
    return (_letters(letters) if letters else "") + digits


def _split(word: str) -> tuple[str, str]:
    """A word without the digits at its end, and these."""
    letters = word.rstrip("0123456789")
    return letters, word[len(letters) :]


def _letters(word: str) -> str:
    if word in GREEK:
        return rf"\{word}"
    escaped = "".join(LATEX_SPECIAL.get(c, c) for c in word)
    return escaped if len(word) == 1 else rf"\mathrm{{{escaped}}}"
