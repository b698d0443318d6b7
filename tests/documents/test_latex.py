"""LaTeX apart from its blocks (see `blocks/latex`): ends of lines, commands with nothing after them, and open groups."""

from __future__ import annotations

import pytest

from documents.block_lines import lines_of


def body(text: str) -> list[str]:
    """The lines of a document with this body, which begins on line 3."""
    return lines_of(
        "latex", f"\\documentclass{{article}}\n\\begin{{document}}\n{text}\n\\end{{document}}\nNot printed."
    )


def shown(text: str) -> str:
    return "\n".join(line.split(" | ", 3)[3] for line in body(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"Ada Brun\\Foss University\\[2ex]Norway\\*The end", "Ada Brun Foss University Norway The end"),
        (r"\textbf{Ada\\Foss}", "Ada Foss"),
        (r"one\newline two\par three\quad four", "one two three four"),
        (r"\ss{} \o re, Stra\ss e, \ldots{} and", "ß øre, Straße, … and"),
        (r"with \LaTeX{} or \TeX\ itself", "with LaTeX or TeX itself"),
        ("caf\\'e na\\\"ive \\v{S}koda \\c{c}a \\'{\\i} \\aa ngstrom", "café naïve Škoda ça í ångstrom"),
        (r"50\% of \$5 \& \# \_ \{x\} % comment", "50% of $5 & # _ {x}"),
        (
            "Ein \\textbf{fett \\emph{kursiv}} {\\bf alt} {\\Large gross} a -- b --- c",
            "Ein fett kursiv alt gross a – b — c",
        ),
        ("``Stop,'' he said~to \\mbox{me}", "“Stop,” he said to me"),
        (
            r"see \cite{a} and~\ref{b}, \url{http://x.org/z}, \href{http://a.org}{the plan}",
            "see and, http://x.org/z, the plan",
        ),
        (r"$E = mc^2$ and \(a_{12}\) \[ x^{10} \]", "E = mc^2 and a_12 x^10"),
        (r"\begin{align}\label{e} a &= b \\ c &= d \end{align}", "a = b ; c = d"),
        (r"\begin{comment}secret\end{comment}x \iffalse draft \fi y", "x y"),
        (r"\newcommand{\town}{Foss}In \town{} and \town. \def\mill{Hope Mill}\mill", "In Foss and Foss. Hope Mill"),
        ("\\input{secret}\\include{more} שלום עולם", "שלום עולם"),
        ("a } b { c", "a b c"),
        ("x" * 5000, "x" * 5000),
    ],
)
def test_text_is_shown_as_it_is_printed(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "\\section{One}\n\\subsubsection{Deep}\ntext\n\n\\section*{Two\\\\lines}\n\\paragraph{Run} in.",
            [
                "heading 2 |  | line 3 | One",
                "heading 4 | One | line 4 | Deep",
                "paragraph | One > Deep | line 5 | text",
                "heading 2 |  | line 7 | Two lines",
                "heading 5 | Two lines | line 8 | Run",
                "paragraph | Two lines > Run | line 8 | in.",
            ],
        ),
        (
            "\\begin{itemize}\n\\item a\n\\begin{enumerate}\n\\item b\n\non\n\\end{enumerate}\n\\item[] c\n\\end{itemize}\nend",
            [
                "item 1 |  | line 4 | a",
                "item 2 ordered |  | line 6 | b <- a",
                "paragraph 2 |  | line 8 | on <- b",
                "item 1 |  | line 10 | c",
                "paragraph |  | line 12 | end",
            ],
        ),
        (
            "\\begin{tabular}{ll}\n\\toprule\nName & Town \\\\\n\\midrule\nAda & Bern \\\\\nBo \\& Cy & \\\\\n\\end{tabular}",
            [
                "row header |  | line 3 | Name ¦ Town",
                "row |  | line 5 | Name=Ada ¦ Town=Bern",
                "row |  | line 7 | Name=Bo & Cy ¦ Town=",
            ],
        ),
        (
            "a\\footnote{one \\textbf{b}} b\\footnote{two}\n\n\\verb|x % y| stays",
            [
                "paragraph |  | line 3 | a[1] b[2]",
                "paragraph |  | line 3 | [1] one b",
                "paragraph |  | line 3 | [2] two",
                "paragraph |  | line 5 | x % y stays",
            ],
        ),
        (
            "Before\n\\begin{verbatim}\n% no comment\n\\x{}\n\\end{verbatim}\nAfter",
            [
                "paragraph |  | line 3 | Before",
                "code |  | line 4 | % no comment\\n\\\\x{}",
                "paragraph |  | line 8 | After",
            ],
        ),
        (
            "\\begin{figure}\n\\includegraphics{m.png}\n\\caption{A map\\footnote{old}}\n\\end{figure}",
            ["paragraph |  | line 5 | A map[1]", "paragraph |  | line 5 | [1] old"],
        ),
    ],
    ids=["levels", "lists", "table", "footnotes", "code", "caption"],
)
def test_blocks_have_their_lines(text: str, lines: list[str]) -> None:
    assert body(text) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\\begin{document}", []),
        ("\\section{open", ["paragraph |  | line 1 | open"]),
        ("\\begin{tabular}{l} a & b", ["row |  | line 1 | a ¦ b"]),
        ("\\begin{verbatim}\nx", ["code |  | line 1 | x"]),
        ("\\begin{itemize}\n\\item a", ["item 1 |  | line 2 | a"]),
        ("a $x + y", ["paragraph |  | line 1 | a $x + y"]),
        ("\\section{X}\ny", ["heading 2 |  | line 1 | X", "paragraph | X | line 2 | y"]),
    ],
)
def test_a_file_that_ends_too_early_or_is_a_part_of_another_is_read(text: str, lines: list[str]) -> None:
    assert lines_of("latex", text) == lines


def test_title_authors_and_date_are_those_of_the_commands() -> None:
    front = (
        "\\title{On\\\\ \\emph{Tides}}\n\\author{Ada Brun\\thanks{Paid}\\\\Foss \\and Bo Lind}\n\\date{5 March 2024}\n"
    )
    assert lines_of("latex", f"{front}\\begin{{document}}\n\\maketitle\nText.")[:3] == [
        "title: On Tides",
        "date: 2024-03-05 (its command)",
        "row |  | line 2 | Author=Ada Brun Foss, Bo Lind",
    ]
