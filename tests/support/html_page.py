"""Parse the tags, attributes and texts of an HTML page."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags, addresses, ids, sections and inline styles of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.sections: list[str] = []
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"href", "src", "xlink:href"} and value:
                self.addresses.append(value)
            if name == "style" and value:
                self.styles.append(value)
            if name == "id" and value:
                self.ids.append(value)
                if tag == "section":
                    self.sections.append(value)


class _Texts(HTMLParser):
    """Texts of a page's blocks, without figures, scripts, styles and code."""

    _BLOCKS = frozenset(
        ("h1", "h2", "h3", "h4", "p", "li", "td", "th", "dt", "dd", "summary", "figcaption", "div")
    )
    _SKIPPED = frozenset(("svg", "script", "style", "pre", "title", "footer"))

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._words = ""
        self._skipping = 0
        self.feed(page)
        self._end()

    def _end(self) -> None:
        if text := " ".join(self._words.split()):
            self.found.append(text)
        self._words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipping += tag in self._SKIPPED
        if tag in self._BLOCKS:
            self._end()

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in self._SKIPPED
        if tag in self._BLOCKS:
            self._end()

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._words += data


def texts(page: str) -> list[str]:
    """Return the texts of a page's paragraphs, headings, items and cells, each once."""
    return list(dict.fromkeys(_Texts(page).found))
