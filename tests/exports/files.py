"""Read exported text files independently of the package."""

import csv
from pathlib import Path


def lines(path: Path) -> list[str]:
    """Return the lines of a file that ends with a newline and has no carriage return."""
    text = path.read_text()
    assert text.endswith("\n") and "\r" not in text
    return text[:-1].split("\n")


def records(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file with a header."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_swf(path: Path) -> tuple[dict[str, str], dict[int, str], list[list[int]]]:
    """Read an SWF file by the format's definition: header, queues by number, records."""
    header, queues, rows = {}, {}, []
    for line in lines(path):
        if line.startswith(";"):
            key, _, value = line[1:].partition(":")
            if key.strip() == "Queue":
                number, name = value.split()
                queues[int(number)] = name
            else:
                header[key.strip()] = value.strip()
        else:
            rows.append([int(v) for v in line.split()])
    return header, queues, rows
