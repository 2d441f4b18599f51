"""Tables in files: those of runs, and of other programs. In a file with a header the unit of a
column stands behind its name, as in ``hinge' [rad/s]``; ``.mat`` and ``.h5`` have four arrays,
``time``, ``values``, ``names``, ``units``."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import scipy.io

from .. import door
from ..arguments import file_path, replacing
from ..errors import ArgumentError, MechgraphError, error_text

if TYPE_CHECKING:
    import pandas as pd

LIMITS = (1_048_575, 16_383)  # rows and columns of a sheet, beside the header and the times
SEPARATORS = ("\t", ";", ",")
HEADER = re.compile(r"(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]*)\]")


@dataclass(frozen=True)
class Format:
    """How tables with one ending are written and read, and the package that this needs."""

    write: Callable[[pd.DataFrame, Path], None]
    read: Callable[[Path], pd.DataFrame]
    package: str = "pandas"


def write(table: pd.DataFrame, path: str | Path) -> Path:
    """Write a table of ``run.table``; the ending says how."""
    path = file_path(path)
    form = _format(path)
    door.library(form.package)
    with replacing(path) as file:
        form.write(table, file)
    return path


def read(path: str | Path) -> pd.DataFrame:
    """The table in a file, with the units of its columns in ``attrs``; the times are a column."""
    path = file_path(path)
    form = _format(path)
    door.library(form.package)
    try:
        return _with_units(form.read(path))
    except MechgraphError:
        raise
    except OSError as error:
        raise ArgumentError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # whatever a file that others wrote makes of a parser
        raise ArgumentError(f"{path}: not a table that can be read ({error_text(error)})") from None


def _format(path: Path) -> Format:
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise ArgumentError(f"{path}: a table ends in {', '.join(FORMATS)}") from None


# --- headers --------------------------------------------------------------------------------------


def _headed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with times as its first column and units in all headers."""
    units = {"time": "s", **table.attrs.get("units", {})}
    flat = table.reset_index()
    flat.columns = [_header(name, units.get(name, "")) for name in flat]
    return flat


def _header(name: str, unit: str) -> str:
    """A name with its unit; one that looks as if it had one has an empty one."""
    return f"{name} [{unit}]" if unit or HEADER.fullmatch(name) else name


def _with_units(table: pd.DataFrame) -> pd.DataFrame:
    """The opposite: names as headers, and units beside them."""
    known = table.attrs.get("units")
    if known and {*known} <= {*table.columns}:
        return table
    found = {str(header): HEADER.fullmatch(str(header).strip()) for header in table.columns}
    units = {
        text if match is None else match["name"]: "" if match is None else match["unit"].strip()
        for text, match in found.items()
    }
    out = table.set_axis(
        [text.strip() if match is None else match["name"] for text, match in found.items()], axis=1
    )
    out.attrs = {"units": units}
    return out


# --- formats --------------------------------------------------------------------------------------


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    _headed(table).to_csv(path, index=False)  # digits enough to get the same numbers back


def _read_csv(path: Path) -> pd.DataFrame:
    """Columns between commas, semicolons (then perhaps with decimal commas) or tabs; lines that
    begin with #, and what stands behind one after the header, are comments."""
    pandas = door.library("pandas")
    with path.open(encoding="utf-8-sig") as file:
        head, start = _next_line(file), file.tell()
        first = _next_line(file)
        file.seek(start)
        separator = _separator(head, first)
        options = {"sep": separator, "dtype": str, "skipinitialspace": True}
        names = pandas.read_csv(StringIO(head), **options).columns  # a # is a letter of a name
        texts = pandas.read_csv(file, names=names, comment="#", **options)
    if not isinstance(texts.index, pandas.RangeIndex):  # pandas would shift the names
        raise ArgumentError(f"{path}: rows have more entries than the header has names")
    decimal = "," if separator != "," and "," in first and "." not in first else "."
    return texts.apply(lambda column: _numbers(column, decimal))


def _next_line(file: TextIO) -> str:
    """The next line that says something; empty, if there is none."""
    for line in iter(file.readline, ""):
        if line.strip() and line[0] != "#":
            return line
    return ""


def _separator(head: str, first: str) -> str:
    """What divides the header and the first row into as many columns."""
    for each in SEPARATORS:
        sizes = {len(row) for row in csv.reader([head, first], delimiter=each)}
        if len(sizes) == 1 and sizes != {1}:
            return each
    return next((each for each in SEPARATORS if each in head), ",")


def _numbers(column: pd.Series, decimal: str) -> pd.Series:
    """A column of texts as the nearest numbers, if it has numbers."""
    pandas = door.library("pandas")
    try:
        values = [float(str(text).replace(decimal, ".")) for text in column]
    except ValueError:
        return column
    return pandas.Series(values, column.index, float)


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    _headed(table).to_parquet(path, index=False)


def _read_parquet(path: Path) -> pd.DataFrame:
    return door.library("pandas").read_parquet(path)


def _write_xlsx(table: pd.DataFrame, path: Path) -> None:
    if any(size > most for size, most in zip(table.shape, LIMITS, strict=True)):
        raise ArgumentError(
            f"a sheet holds {LIMITS[0]:,} rows and {LIMITS[1]:,} columns, this table has "
            f"{table.shape[0]:,} and {table.shape[1]:,}; save it as .parquet or .csv"
        )
    _headed(table).to_excel(path, index=False, sheet_name="run")


def _read_xlsx(path: Path) -> pd.DataFrame:
    return door.library("pandas").read_excel(path)


def _arrays(table: pd.DataFrame) -> dict[str, Any]:
    units = table.attrs.get("units", {})
    names = [str(name) for name in table.columns]
    return {
        "time": table.index.to_numpy(),
        "values": table.to_numpy(),
        "names": np.array(names, dtype=object),
        "units": np.array([units.get(name, "") for name in names], dtype=object),
    }


def _write_mat(table: pd.DataFrame, path: Path) -> None:
    scipy.io.savemat(path, _arrays(table), do_compression=True, oned_as="column")


def _read_mat(path: Path) -> pd.DataFrame:
    return _from_arrays(scipy.io.loadmat(path, chars_as_strings=True))


def _write_h5(table: pd.DataFrame, path: Path) -> None:
    with door.library("h5py").File(path, "w") as file:
        for name, values in _arrays(table).items():
            file[name] = values


def _read_h5(path: Path) -> pd.DataFrame:
    h5py = door.library("h5py")
    with h5py.File(path, "r") as file:
        found = {key: item for key, item in file.items() if isinstance(item, h5py.Dataset)}
        return _from_arrays({key: item[()] for key, item in found.items()})


def _from_arrays(arrays: Mapping[str, Any]) -> pd.DataFrame:
    """A table of ours; or of all vectors that are as long as most, where they have names alone."""
    pd = door.library("pandas")
    if {"time", "values", "names"} <= set(arrays):
        names = list(_texts(arrays["names"]))
        table = pd.DataFrame(np.atleast_2d(arrays["values"]), columns=names)
        table.insert(0, "time", np.ravel(arrays["time"]))
        table.attrs["units"] = dict(zip(names, _texts(arrays.get("units", ())), strict=False))
        return table
    vectors = {key: np.ravel(x) for key, x in arrays.items() if _is_vector(x)}
    sizes = [x.size for x in vectors.values()]
    length = max(sizes, key=sizes.count, default=0)
    return pd.DataFrame({key: x for key, x in vectors.items() if x.size == length})


def _is_vector(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fiu" and x.size == max(x.shape, default=0)


def _texts(values: Any) -> Iterator[str]:
    for each in np.ravel(values):
        plain = each.item() if isinstance(each, np.ndarray) and each.size else each
        text = "" if isinstance(plain, np.ndarray) else plain
        yield text.decode() if isinstance(text, bytes) else str(text)


FORMATS: Mapping[str, Format] = {
    ".csv": Format(_write_csv, _read_csv),
    ".parquet": Format(_write_parquet, _read_parquet, "pyarrow"),
    ".xlsx": Format(_write_xlsx, _read_xlsx, "openpyxl"),
    ".mat": Format(_write_mat, _read_mat),
    ".h5": Format(_write_h5, _read_h5, "h5py"),
}
