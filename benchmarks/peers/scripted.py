"""A free language model for systems that build with one: the local server of the tests, and the replies of its model.

It speaks the protocol of OpenAI over HTTP and answers each library in the form that its prompt requests, by one rule:
the entities of a text are its capitalised words, at most MOST_NAMES, and each is related to the next one. So calls,
tokens and the time of a library around them can be compared, but not its handling of real replies. Tokens are the server's
count of prompts and replies, the same for all. Vectors are those of our encoder.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

MOST_NAMES = 10
NAMES = re.compile(r"\b[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")
SUMMARY_WORDS = 40

Body = dict[str, Any]


def reply_to(body: Body) -> str:
    """The model's reply to a request, by the library whose prompt it is."""
    first, last = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "<|#|>" in first:
        return lightrag_records(last)
    if "<|>" in first:
        return nano_graphrag_records(first, last)
    if body.get("response_format", {}).get("type") == "json_schema":
        return our_reply(body)
    if '"findings"' in last or '"findings"' in first:
        return community_report(last)
    return summary_of(last)


def names_in(text: str) -> list[str]:
    return list(dict.fromkeys(NAMES.findall(text)))[:MOST_NAMES]


def summary_of(text: str) -> str:
    """The last words: prompts end with their subject."""
    return " ".join(text.split()[-SUMMARY_WORDS:])


def lightrag_records(prompt: str) -> str:
    """The reply to a request for missed entities: there are none."""
    if "---Input Text---" not in prompt:
        return "<|COMPLETE|>"
    names = names_in(prompt.rpartition("---Input Text---")[2].rpartition("---Output---")[0])
    lines = [f"entity<|#|>{name}<|#|>Other<|#|>{name} is named in the text." for name in names]
    lines += [
        f"relation<|#|>{one}<|#|>{other}<|#|>named together<|#|>{one} and {other} are named together."
        for one, other in pairwise(names)
    ]
    return "\n".join([*lines, "<|COMPLETE|>"])


def nano_graphrag_records(first: str, last: str) -> str:
    if last != first:  # it asks again: for what was missed, or whether anything was
        return "NO" if "YES | NO" in last else "<|COMPLETE|>"
    names = names_in(first.rpartition("Text: ")[2].rpartition("####")[0])
    records = [f'("entity"<|>"{name}"<|>"event"<|>"{name} is named in the text.")' for name in names]
    records += [
        f'("relationship"<|>"{one}"<|>"{other}"<|>"{one} and {other} are named together."<|>5)'
        for one, other in pairwise(names)
    ]
    return "##".join(records) + "<|COMPLETE|>"


def community_report(prompt: str) -> str:
    summary = summary_of(prompt)
    finding = {"summary": summary, "explanation": summary}
    report = {"title": "Names", "summary": summary, "rating": 5.0, "rating_explanation": "", "findings": [finding]}
    return json.dumps(report)


def our_reply(body: Body) -> str:
    from fakeai.brains import task_of

    prompt = body["messages"][-1]["content"]
    if task_of(body) != "extract":
        return json.dumps({"summary": summary_of(prompt)})
    names = names_in(prompt.rpartition("The sentences, numbered by us:")[2])
    facts = [
        {"text": f"{one} and {other} are named together.", "entities": [one, other], "sentence": 1}
        for one, other in pairwise(names)
    ]
    return json.dumps({"entities": names, "facts": facts})
