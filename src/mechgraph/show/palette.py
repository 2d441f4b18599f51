"""Colours of plots, pages and animations."""

SERIES = (
    "#2f6fed",
    "#e8743b",
    "#12a37a",
    "#c0479b",
    "#8a63d2",
    "#0ea5b7",
    "#d99a06",
    "#e0526e",
    "#5b7f95",
    "#7a8c1f",
)
INK, MUTED, LINES, PAPER = "#1d2733", "#6b7885", "#e3e8ee", "#ffffff"


def color(k: int) -> str:
    """The colour of series k; they repeat after ten."""
    return SERIES[k % len(SERIES)]
