"""Import the modules of a package on first use of their names (Scientific Python's SPEC 1)."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_imports(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    The package states the same names under ``if TYPE_CHECKING`` for editors and type checkers.

    Parameters
    ----------
    package
        Name of the package.
    names
        Names of each module in the package, separated by spaces.

    Examples
    --------
    >>> get_name, list_names = lazy_imports("philly_analysis", {"errors": "PhillyError InputError"})
    >>> get_name("InputError").__name__, "PhillyError" in list_names()
    ('InputError', True)
    """
    modules = {name: module for module, listed in names.items() for name in listed.split()}

    def get_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get_name, list_names
