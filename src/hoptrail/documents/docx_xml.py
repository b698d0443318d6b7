"""Looks up elements and values in the XML of a Word file."""

from __future__ import annotations

from typing import Any

NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def tag(name: str) -> str:
    """The tag of an element or attribute of WordprocessingML."""
    return f"{NAMESPACE}{name}"


def find(element: Any, *tags: str) -> Any | None:
    """The descendant that these tags lead to, one for each level."""
    return element.find("/".join(map(tag, tags)))


def value(element: Any, *tags: str) -> str | None:
    """The value of the descendant that these tags lead to."""
    found = find(element, *tags)
    return None if found is None else found.get(tag("val"))


def is_on(element: Any, *tags: str) -> str:
    """`on` or `off` if the descendant that these tags lead to is there and says so; else empty."""
    mark = find(element, *tags)
    if mark is None:
        return ""
    return "off" if mark.get(tag("val")) in {"0", "false", "off"} else "on"
