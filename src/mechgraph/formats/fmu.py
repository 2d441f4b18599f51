"""FMUs: a model for other programs' simulations by the standards FMI 3.0 and 2.0, for model
exchange and co-simulation, with source and machine code."""

from __future__ import annotations

import hashlib
import platform
import sys
import tempfile
import uuid
import warnings
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import choice, file_path, replacing, writing
from ..equations import Equations
from ..errors import ArgumentError, shown
from ..kernels.compiler import CompilationFailure, build_portable
from ..kernels.emit import functions, prelude, text_of
from ..runtime.build import FOLDER as RUNTIME
from .c import traced
from .fmu_description import build_description, described
from .fmu_model import FmuModel, started

VERSIONS = ("3.0", "2.0")
POINT = "{{{}, {{{}, {}}}, {{{}, {}}}, {}, {}, {}, {{{}, {}}}, {}}}"  # of contacts.c
EPOCH = (1980, 1, 1, 0, 0, 0)  # of the files inside: the same model makes the same bytes


def export_fmu(equations: Equations, path: str | Path, version: str = "3.0", **about: Any) -> Path:
    """Write an FMU for model exchange and co-simulation, ``about`` its start and so on; see
    ``Equations.export_fmu``."""
    target = file_path(path)
    if target.suffix.lower() != ".fmu":
        raise ArgumentError(f"an FMU is written to a file NAME.fmu, got {shown(str(path))}")
    with writing(target):
        target.parent.stat()
    version = choice("version", version, VERSIONS)
    model = started("export_fmu", equations, **about, switched=True)
    contents = _contents(model, version)
    with replacing(target) as file, zipfile.ZipFile(file, "w") as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return target


def _contents(model: FmuModel, version: str) -> dict[str, str | bytes]:
    """All files of the archive."""
    driver = f"fmi{version[0]}.c"
    sources = {"steps.c": text_of(RUNTIME / "steps/steps.c")}
    if model.contacts is not None:
        sources["contacts.c"] = text_of(RUNTIME / "contacts/contacts.c")
    for name in ("fmu.h", driver):
        sources[name] = files(__package__).joinpath(name).read_text(encoding="utf-8")
    text = _model_source(model)
    hashed = (*sources.values(), text, described(model, version, ""))
    digest = hashlib.sha256("\0".join(hashed).encode()).digest()
    token = f"{{{uuid.UUID(bytes=digest[:16])}}}"
    sources["model.h"] = f'#define TOKEN "{token}"\n{text}'
    contents: dict[str, str | bytes] = {
        "modelDescription.xml": described(model, version, token),
        **{f"sources/{name}": source for name, source in sources.items()},
    }
    if version == "3.0":
        contents["sources/buildDescription.xml"] = build_description(model.identifier)
    return contents | _binary(model.identifier, version, sources, driver)


def _model_source(model: FmuModel) -> str:
    """``model.h``: sizes, start values, and the functions of the model."""
    eqs, made = model.equations, model.functions()
    body, workspace = functions(traced("export_fmu", made))
    fixed = ["2" if p.kind == "mode" else str(int(p.fixed)) for p in model.of("parameter", "mode")]
    defined = {
        "NY": model.y.numel(),
        "NP": len(eqs.parameters),
        "NW": len(eqs.inputs),
        "NO": model.observed.numel(),
        "NZ": model.surfaces.numel(),
        "PIECES": model.pieces.numel(),
        "NL": made["limit"].numel_out(0),
        "POSITIVE": model.limits[0].numel(),
        "WORK": max(1, workspace),
        "LOAD": made["flow"].n_instructions(),
        "KEEPING": int(model.is_kept),
        "TOLERANCE": repr(model.tolerance),
        "START": f"{{{', '.join(repr(float(v)) for v in model.start)}}}",
        "FIXED": f"{{{', '.join(fixed) or '0'}}}",
        "MODEL_NAME": f'"{model.identifier}"',
        **_contacts(model),
    }
    definitions = [f"#define {key} {value}" for key, value in defined.items()]
    return "\n".join([*definitions, prelude(1), *body, ""])


def _contacts(model: FmuModel) -> dict[str, Any]:
    """What is defined for contacts: sizes, the table of points, and which of them are rough, and
    rings."""
    if model.contacts is None:
        return {"NC": 0}
    contacts, layout = model.contacts, model.layout
    chosen = {"ROUGH": np.flatnonzero(contacts.rough), "RINGS": np.flatnonzero(contacts.rings)}
    listed = {name: f"{{{', '.join(map(str, [*which, -1]))}}}" for name, which in chosen.items()}
    points = ", ".join(POINT.format(*row) for row in layout.points)
    return {
        "NC": len(layout.points),
        "NM": contacts.margins.numel(),
        **dict(zip(("NQ", "NU", "NA", "NHELD", "NVELOCITIES"), layout.sizes, strict=True)),
        "LARGEST_TOLERANCE": repr(model.largest_tolerance),
        "POINTS": f"{{{points}}}",
        **listed,
    }


# --- machine code ---------------------------------------------------------------------------------


def _binary(
    identifier: str, version: str, sources: dict[str, str], driver: str
) -> dict[str, str | bytes]:
    """The machine code of this machine, by its place in the archive; none, with a warning, if it
    cannot be made."""
    folder, ending = _platform(version)
    with tempfile.TemporaryDirectory() as place:
        for name, text in sources.items():
            (Path(place) / name).write_text(text, encoding="utf-8")
        library = Path(place) / f"{identifier}{ending}"
        size = sum(map(len, sources.values()))
        try:
            build_portable(Path(place) / driver, library, size)
        except CompilationFailure as failure:
            warnings.warn(f"the FMU has its source only, no machine code: {failure}", stacklevel=5)
            return {}
        return {f"binaries/{folder}/{library.name}": library.read_bytes()}


def _platform(version: str) -> tuple[str, str]:
    """The folder for this machine's code, and the ending of libraries."""
    word, system, ending = {
        "win32": ("win", "windows", ".dll"),
        "darwin": ("darwin", "darwin", ".dylib"),
    }.get(sys.platform, ("linux", "linux", ".so"))
    if version == "2.0":
        return f"{word}{64 if sys.maxsize > 2**32 else 32}", ending
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    return f"{machine}-{system}", ending
