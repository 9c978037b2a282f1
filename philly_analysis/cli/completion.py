"""What may be typed where: names with what they mean, looked up when help or a shell asks.

Whoever asks for help waits for it, so no more is loaded than it takes: no frames, and of modules
that only say something, what they say and not what they import.
"""

import ast
import tomllib
from pathlib import Path
from typing import Any

import philly_analysis as library

Choices = list[tuple[str, str]]

_PACKAGE = Path(__file__).parents[1]


def sources() -> Choices:
    """List sources of raw logs, and what each reads."""
    engine = _PACKAGE / "ingest" / "engine.py"
    homes = {
        alias.name: _PACKAGE.parent.joinpath(*str(node.module).split("."), "__init__.py")
        for node in ast.parse(engine.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    listed = _assigned(engine, "SOURCES")
    sources = [n.id for n in ast.walk(listed) if isinstance(n, ast.Name) and n.id.isupper()]
    said = [_keywords(_assigned(homes[name], name)) for name in sources]
    return [(words["name"], words["what"]) for words in said]


def datasets() -> Choices:
    """List public traces that can be fetched, and what each is."""
    listed = tomllib.loads((_PACKAGE / "ingest" / "downloads" / "datasets.toml").read_text("utf-8"))
    return [(name, told["what"]) for name, told in listed.items()]


def maps() -> Choices:
    """List maps of tables that ship, and what each reads."""
    shipped = sorted((_PACKAGE / "ingest" / "table" / "maps").glob("*.toml"))
    return [(p.stem, tomllib.loads(p.read_text("utf-8"))["what"]) for p in shipped]


def analyses() -> Choices:
    """List analyses, and the question of each."""
    names = _keys(_PACKAGE / "report" / "chapters.py", "CHAPTERS")
    folders = ("analyses", "models/validation")
    return [(name, _constant(_module(name, *folders), "QUESTION")) for name in names]


def families() -> Choices:
    """List families of distributions, and the parameters of each."""
    laws = _PACKAGE / "distributions"
    names = {
        ast.literal_eval(call.args[0]): ast.literal_eval(call.args[1])
        for call in ast.walk(_assigned(laws / "families.py", "FAMILIES"))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }
    empirical = _constant(laws / "distribution.py", "EMPIRICAL")
    names[empirical] = ast.literal_eval(_assigned(laws / "distribution.py", "EMPIRICAL_PARAMETERS"))
    return [(name, ", ".join(parameters)) for name, parameters in names.items()]


def models() -> Choices:
    """List models that ship, and what each was fitted to."""
    from philly_analysis.models import described

    return [(name, fitted_on) for name, _, fitted_on in described()]


def formats() -> Choices:
    """List export formats, and who reads the default dialect of each."""
    return _pairs(library.formats().drop_duplicates("format"), "format", "reader")


def dialects() -> Choices:
    """List dialects of export formats, and who reads each."""
    known = library.formats()
    known = known[known["format"].duplicated(keep=False)]
    return _pairs(known.assign(of=known["format"] + ": " + known["reader"]), "dialect", "of")


def policies() -> Choices:
    """List scheduling policies, and what each does."""
    folder = _PACKAGE / "simulator" / "policies"
    classes = {c.name: c for file in folder.glob("*.py") for c in _classes(file)}
    listed = ast.walk(_assigned(folder / "__init__.py", "POLICIES"))
    named = [classes[n.id] for n in listed if isinstance(n, ast.Name) and n.id in classes]
    return [(ast.literal_eval(_given(c.body, "name")), _first_line(c)) for c in named]


def speeds() -> Choices:
    """List laws of how fast jobs run, and what each takes into account."""
    file = _PACKAGE / "simulator" / "speed" / "speed.py"
    classes = {c.name: c for c in _classes(file)}
    listed = _assigned(file, "SPEEDS")
    assert isinstance(listed, ast.Dict)  # noqa: S101 - so it is written
    pairs = zip(listed.keys, listed.values, strict=True)
    return [
        (ast.literal_eval(name), _first_line(classes[speed.id]))
        for name, speed in pairs
        if name and isinstance(speed, ast.Name)
    ]


def experiments() -> Choices:
    """List experiments, and what each asks."""
    listed = _PACKAGE / "experiments" / "__init__.py"
    names = [*_keys(listed, "EXPERIMENTS"), *_keys(listed, "ACROSS")]
    return [(name, _constant(_module(name, "experiments"), "QUESTION")) for name in names]


def _pairs(frame: Any, name: str, meaning: str) -> Choices:
    return list(zip(frame[name], frame[meaning], strict=True))


def _module(name: str, *rooms: str) -> Path:
    """Return the file of a module that stands in one of some rooms."""
    return next(file for room in rooms if (file := _PACKAGE / room / f"{name}.py").is_file())


def _keys(file: Path, name: str) -> list[str]:
    """Return the names that a dict gives modules, those of the dicts in it as well."""
    return [
        str(key.value)
        for node in ast.walk(_assigned(file, name))
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(value, ast.Name)
    ]


def _constant(file: Path, name: str) -> str:
    """Return the text that a module gives a name."""
    return str(ast.literal_eval(_assigned(file, name)))


def _assigned(file: Path, name: str) -> ast.expr:
    """Return the expression that a module gives a name, the module not run."""
    return _given(ast.parse(file.read_text("utf-8")).body, name)


def _given(body: list[ast.stmt], name: str) -> ast.expr:
    """Return the expression that a module or class gives a name."""
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                return node.value
    raise LookupError(f"nothing is called {name}")


def _classes(file: Path) -> list[ast.ClassDef]:
    body = ast.parse(file.read_text("utf-8")).body
    return [node for node in body if isinstance(node, ast.ClassDef)]


def _first_line(node: ast.ClassDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0]


def _keywords(call: ast.expr) -> dict[str, str]:
    """Return the texts that a call is given by name."""
    return {
        str(word.arg): word.value.value
        for word in (call.keywords if isinstance(call, ast.Call) else ())
        if isinstance(word.value, ast.Constant) and isinstance(word.value.value, str)
    }
