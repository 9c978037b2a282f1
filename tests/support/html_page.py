"""Parse the tags and attributes of an HTML page."""

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
