"""Results of several analyses by name, shown in a notebook and saved together."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from philly_analysis.errors import UnknownNameError
from philly_analysis.results.result import Result
from philly_analysis.results.saving import create_folder

if TYPE_CHECKING:
    import pandas as pd


class Results(dict[str, Result]):
    """Results by name, in order, each shown in a notebook.

    Attributes
    ----------
    write_page
        Function that writes the page of the results into a folder; None: the results have no page.
    """

    write_page: "Callable[[Path], Path] | None" = None

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownNameError("result", str(name), self)

    def df(self) -> "pd.DataFrame":
        """Return the facts of all results as a table: result, name, value, unit, meaning."""
        import pandas as pd

        facts = [result.facts.df().assign(result=name) for name, result in self.items()]
        columns = ["result", "name", "value", "unit", "meaning"]
        return (
            pd.concat(facts, ignore_index=True)[columns] if facts else pd.DataFrame(columns=columns)
        )

    def save(self, folder: str | Path) -> Path:
        """Save the page of the results, or each result in a folder of its name.

        Raises
        ------
        OutputError, TraceError
            The folder cannot be written.
        """
        folder = Path(folder)
        if self.write_page:
            return self.write_page(folder)
        create_folder(folder)
        for name, result in self.items():
            result.save(folder / name)
        return folder

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.values()))

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self.values())
