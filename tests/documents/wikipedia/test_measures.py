"""Templates of measures, money, ships and links: complete or empty."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hoptrail.documents.wikipedia.templates import filled, shown, template_name


@pytest.mark.parametrize(
    ("name", "arguments", "named", "text"),
    [
        ("convert", ("90", "km", "mi"), {"abbr": "on"}, "90 km"),
        ("convert", ("5", "to", "7", "km"), {}, "5 to 7 km"),
        ("convert", ("5", "ft", "10", "in", "cm"), {}, "5 ft 10 in"),
        ("convert", ("5+1/2", "mi", "km", "0"), {}, "5 1/2 mi"),
        ("convert", ("20", "C", "F"), {}, "20 °C"),
        ("convert", ("3", "e6km2"), {}, ""),
        ("convert", ("3", "km", "mi"), {"disp": "out"}, ""),
        ("convert", ("many", "km"), {}, ""),
        ("convert", ("3",), {}, ""),
        ("val", ("3.3",), {"e": "23"}, "3.3×10^23"),
        ("val", ("3.3",), {"e": "23", "u": "kg"}, "3.3×10^23 kg"),
        ("val", ("11", "2"), {"u": "m", "up": "s"}, "11±2 m/s"),
        ("val", ("11", "2", "3"), {}, ""),
        ("val", ("11",), {"end": "!"}, ""),
        ("height", (), {"m": "1.80"}, "1.80 m"),
        ("height", (), {"ft": "6", "in": "2"}, "6 ft 2 in"),
        ("ill", ("Orla Finch", "de", "Orla Fink"), {}, "Orla Finch"),
        ("ill", ("Orla Finch", "de"), {"lt": "Finch"}, "Finch"),
        ("formatnum:1234567", (), {}, "1,234,567"),
        ("formatnum:1234.5", (), {}, "1,234.5"),
        ("formatnum:x", (), {}, "x"),
        ("hms", ("Foss", "1900"), {}, "HMS Foss"),
        ("uss", ("Arden", "CV-6"), {}, "USS Arden"),
        ("sclass", ("Foss", "cruiser"), {}, "Foss-class cruiser"),
        ("GBP", ("5 million",), {}, "£5 million"),
        ("EUR", ("20",), {}, "€20"),
        ("US$", ("20",), {"link": "yes"}, "US$20"),
    ],
)
def test_templates(name: str, arguments: tuple[str, ...], named: Mapping[str, str], text: str) -> None:
    assert shown(template_name(name), arguments, named) == text


@pytest.mark.parametrize(
    ("pattern", "arguments", "text"),
    [
        ("$1", {"1": "Isk"}, "Isk"),
        ("$1 of $2", {"1": "Isk"}, ""),
        ("$1 of $2", {"1": "Isk", "2": ""}, ""),
        ("$1 kg of ${what it bears}", {"1": "3", "what it bears": "coal"}, "3 kg of coal"),
        ("$$$price", {"price": "5"}, "$5"),
        ("about", {}, "about"),
    ],
)
def test_patterns_are_filled_completely_or_empty(pattern: str, arguments: Mapping[str, str], text: str) -> None:
    assert filled(pattern, arguments) == text
