"""The user's names as people write symbols: in plain text (θ1, θ1') and in LaTeX."""

from __future__ import annotations

import re

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
LATEX_SPECIAL = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "_": r"\_", "^": r"\wedge ", "&": r"\&", "%": r"\%", "#": r"\#",
    "$": r"\$", "~": r"\sim ", "'": "'", " ": r"\ ",
}  # fmt: skip


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
    letters, digits = re.fullmatch(r"(.*?)(\d*)", first, re.DOTALL).groups()  # type: ignore[union-attr]
    index = ", ".join(part for part in [digits, *(_index(part) for part in rest)] if part)
    symbol = _letters(letters or "q")
    accent = {0: "", 1: r"\dot", 2: r"\ddot"}.get(dots, r"\dddot")
    return (f"{accent}{{{symbol}}}" if accent else symbol) + (f"_{{{index}}}" if index else "")


def _index(part: str) -> str:
    if re.fullmatch(r"w[xyz]", part):  # the speeds of a quaternion are an angular velocity
        return rf"\omega {part[1]}"
    letters, digits = re.fullmatch(r"(.*?)(\d*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
    return (_letters(letters) if letters else "") + digits


def _letters(word: str) -> str:
    if word in GREEK:
        return rf"\{word}"
    escaped = "".join(LATEX_SPECIAL.get(c, c) for c in word)
    return escaped if len(word) == 1 else rf"\mathrm{{{escaped}}}"
