"""``modelDescription.xml``: what a program has to know of an FMU before it loads it."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .fmu_model import FmuModel, Variable
from .units_of_measure import BASE_UNITS


def described(model: FmuModel, version: str, token: str) -> str:
    """The text of the file."""
    root = _head_2(model, token) if version == "2.0" else _head_3(model, token)
    units = SubElement(root, "UnitDefinitions")
    for unit in dict.fromkeys(v.unit for v in model.variables if v.unit in BASE_UNITS):
        powers = {base: str(power) for base, power in BASE_UNITS[unit].items()}
        SubElement(SubElement(units, "Unit", name=unit), "BaseUnit", powers)
    times = {
        "startTime": model.t,
        "stopTime": model.t + model.duration,
        "tolerance": model.tolerance,
    }
    SubElement(root, "DefaultExperiment", {key: repr(value) for key, value in times.items()})
    variables = SubElement(root, "ModelVariables")
    structure = SubElement(root, "ModelStructure")
    if version == "2.0":
        _body_2(model, variables, structure)
    else:
        _body_3(model, variables, structure)
    return _text(root)


def build_description(identifier: str) -> str:
    """How the source of an FMU 3.0 is built."""
    root = Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = SubElement(root, "BuildConfiguration", modelIdentifier=identifier)
    sources = SubElement(configuration, "SourceFileSet", language="C99")
    SubElement(sources, "SourceFile", name="fmi3.c")
    return _text(root)


def _text(root: Element) -> str:
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _title(model: FmuModel, version: str) -> dict[str, str]:
    eqs = model.equations
    return {
        "fmiVersion": version,
        "modelName": eqs.terms.name or "model",
        "description": f"Equations of motion by {eqs.formalism}",
        "generationTool": "mechgraph",
        "variableNamingConvention": "flat",
    }


def _head_2(model: FmuModel, token: str) -> Element:
    count = str(len(model.of("indicator")))
    root = Element(
        "fmiModelDescription", _title(model, "2.0"), guid=token, numberOfEventIndicators=count
    )
    able = {
        "modelIdentifier": model.identifier,
        "canGetAndSetFMUstate": "true",
        "providesDirectionalDerivative": "true",
    }
    needless = str(not model.needs_looks).lower()
    exchange = SubElement(root, "ModelExchange", able, completedIntegratorStepNotNeeded=needless)
    steps = {"canHandleVariableCommunicationStepSize": "true"}
    for each in (exchange, SubElement(root, "CoSimulation", able | steps)):
        SubElement(SubElement(each, "SourceFiles"), "File", name="fmi2.c")
    return root


def _head_3(model: FmuModel, token: str) -> Element:
    root = Element("fmiModelDescription", _title(model, "3.0"), instantiationToken=token)
    able = {
        "modelIdentifier": model.identifier,
        "canGetAndSetFMUState": "true",
        "providesDirectionalDerivatives": "true",
    }
    needed = str(model.needs_looks).lower()
    SubElement(root, "ModelExchange", able, needsCompletedIntegratorStep=needed)
    SubElement(root, "CoSimulation", able, canHandleVariableCommunicationStepSize="true")
    return root


# --- variables ------------------------------------------------------------------------------------


def _attributes(model: FmuModel, variable: Variable) -> dict[str, str]:
    """Causality and variability, which both versions say in the same words."""
    causality, variability, initial = {
        "time": ("independent", "continuous", ""),
        "state": ("output", "continuous", "approx" if model.is_kept else "exact"),
        "derivative": ("local", "continuous", "calculated"),
        "mode": ("local", "discrete", "calculated"),
        "parameter": ("parameter", "fixed" if variable.fixed else "tunable", "exact"),
        "input": ("input", "continuous", ""),
        "output": ("output", "continuous", "calculated"),
        "indicator": ("local", "continuous", "calculated"),
    }[variable.kind]
    found = {
        "name": variable.name,
        "valueReference": str(variable.reference),
        "causality": causality,
        "variability": variability,
    }
    return found | ({"initial": initial} if initial else {})


def _value(model: FmuModel, variable: Variable, shift: int) -> dict[str, str]:
    """Start, unit, and of a derivative what it is the derivative of."""
    found = {} if variable.start is None else {"start": repr(variable.start)}
    if variable.unit in BASE_UNITS:
        found["unit"] = variable.unit
    if variable.kind == "derivative":
        state = variable.reference - len(model.of("state"))
        found["derivative"] = str(state + shift)
    return found


def _body_2(model: FmuModel, variables: Element, structure: Element) -> None:
    """Variables are told by their place in the list, from 1."""
    for variable in model.variables:
        if variable.kind != "indicator":  # which are counted only
            scalar = SubElement(variables, "ScalarVariable", _attributes(model, variable))
            SubElement(scalar, "Real", _value(model, variable, 1))
    depends = model.dependencies()
    for list_name, kinds in {
        "Outputs": ("state", "output"),
        "Derivatives": ("derivative",),
    }.items():
        found = model.of(*kinds)
        listed = SubElement(structure, list_name) if found else structure
        for variable in found:
            knowns = " ".join(str(known + 1) for known in depends[variable.reference])
            index = str(variable.reference + 1)
            SubElement(listed, "Unknown", index=index, dependencies=knowns)
    initial = _initial(model)
    listed = SubElement(structure, "InitialUnknowns") if initial else structure
    for variable in initial:
        SubElement(listed, "Unknown", index=str(variable.reference + 1))


def _body_3(model: FmuModel, variables: Element, structure: Element) -> None:
    for variable in model.variables:
        attributes = _attributes(model, variable) | _value(model, variable, 0)
        SubElement(variables, "Float64", attributes)
    depends = model.dependencies()

    def add(tag: str, variable: Variable, **more: Any) -> None:
        SubElement(structure, tag, valueReference=str(variable.reference), **more)

    for tag, kinds in {
        "Output": ("state", "output"),
        "ContinuousStateDerivative": ("derivative",),
    }.items():
        for variable in model.of(*kinds):
            knowns = " ".join(map(str, depends[variable.reference]))
            add(tag, variable, dependencies=knowns)
    for variable in _initial(model):
        add("InitialUnknown", variable)
    for variable in model.of("indicator"):
        add("EventIndicator", variable)


def _initial(model: FmuModel) -> list[Variable]:
    """What initialization computes: states, too, where constraints have a say."""
    states = ["state"] if model.is_kept else []
    return model.of(*states, "derivative", "output")
