"""Makes a training set for a small extractor from the stored replies of a large one, as SiReRAG section 4.2 does.

Replies are stored, prompts are not. So the request for every passage is built as the language `chat` would build it now, and the
reply to exactly that request is looked up; no model is called. An example has only the part of a usable reply that the passage
supports, in the requested form: no reasoning, no wrapping, no name that is not in the text. Training is not covered. The files
contain the documents' text, and removing a document from the index does not change them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path

from hoptrail.errors import RecordingError, TaskFailed, UsageError, disk_errors
from hoptrail.language.chat.grounding import grounded_facts
from hoptrail.language.chat.performer import ChatLanguage
from hoptrail.language.chat.prompting import load_prompt
from hoptrail.language.chat.reply_parsing import parse_reply
from hoptrail.language.chat.schemas import EntityReply, ExtractReply, FactReply, schema_of
from hoptrail.language.tasks import TASK_NAMES, Extract
from hoptrail.models.billing import PaidReply, RecordedChat
from hoptrail.models.chat import ChatReply, ChatRequest, ChatSettings
from hoptrail.models.ledger import StoredReply
from hoptrail.models.prompt_text import whole_text
from hoptrail.types import Extraction, Unit

TRAIN, VALIDATION, MANIFEST = "train.jsonl", "validation.jsonl", "manifest.json"
_TASK = TASK_NAMES[Extract]
VALIDATION_SHARE = 0.1


@dataclass(slots=True)
class TrainingCounts:
    """Examples written, and passages left out: without a reply to the current prompt and settings; with a reply that is unusable
    or not supported by the passage; with the same prompt as another passage.
    """

    train: int = 0
    validation: int = 0
    without_reply: int = 0
    unusable: int = 0
    repeated: int = 0


def write_training_set(
    stored: Iterable[StoredReply],
    passages: Iterable[Unit],
    chat: ChatSettings,
    out: Path,
    share: float = VALIDATION_SHARE,
    model: str = "",
    *,
    figures: bool = False,
) -> TrainingCounts:
    """Write `train.jsonl`, `validation.jsonl` (lines `{"messages": [{"role", "content"}]}`) and, last, `manifest.json` to `out`.

    `stored` comes from `RememberedReplies.stored`; `passages` are in document order; `chat` and `figures` are the settings under
    which the replies were made. The `share` of the documents is held out for validation. `model`: whose replies are used if there
    are several models'. The same replies and passages in the same order give the same bytes.
    Raises: UsageError: there are no replies to extraction, or of several models; the share is not below 1. StorageError: the
    folder cannot be written.
    """
    if not 0 <= share < 1:
        raise UsageError(f"the validation share is at least 0 and below 1, not {share}")
    recording, counts = _open_recording(stored, model), TrainingCounts()
    with disk_errors(f"cannot write the training set to {out}"):
        out.mkdir(parents=True, exist_ok=True)
        (out / MANIFEST).unlink(missing_ok=True)
        with (out / TRAIN).open("wb") as train, (out / VALIDATION).open("wb") as validation:
            for unit, line in _examples(tasks_of(passages, figures=figures), recording, chat, counts):
                held_out = is_held_out(unit.document, share)
                counts.validation += held_out
                counts.train += not held_out
                (validation if held_out else train).write(line)
        manifest = _manifest(recording.model, counts, out, share)
        (out / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return counts


def is_held_out(document: str, share: float) -> bool:
    """Whether a document is for validation, independent of all other documents."""
    digest = hashlib.sha256(f"0 {document}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


def tasks_of(passages: Iterable[Unit], *, figures: bool = False) -> Iterator[Extract]:
    """The tasks of passages in document order, each with the one before it in its document."""
    before: Unit | None = None
    for passage in passages:
        yield Extract(passage, before if before and before.document == passage.document else None, figures)
        before = passage


class _TracedRecording(RecordedChat):
    """A recording that keeps its last request and reply."""

    last: tuple[ChatRequest, ChatReply] | None = None

    def forget(self) -> None:
        self.last = None

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        paid = super().remembered(request)
        if paid is not None:
            self.last = (request, paid.reply)
        return paid


def _open_recording(stored: Iterable[StoredReply], model: str) -> _TracedRecording:
    replies = [reply for reply in stored if reply.task == _TASK and model in {"", reply.model}]
    origins = sorted({(reply.place, reply.model) for reply in replies})
    if len(origins) != 1:
        available = "replies of " + ", ".join(name for _, name in origins) if origins else "none"
        raise UsageError(
            f"a training set is made of one model's replies to the task {_TASK}; there are {available}. "
            + ("Choose a model." if origins else "Index documents with the language chat first.")
        )
    return _TracedRecording(Path(), {reply.key: reply.reply for reply in replies}, *origins[0])


def _examples(
    tasks: Iterable[Extract], recording: _TracedRecording, chat: ChatSettings, counts: TrainingCounts
) -> Iterator[tuple[Unit, bytes]]:
    """The examples as lines, each with its passage. Passages without one are counted by the reason."""
    language, used = ChatLanguage(recording, chat), set[str]()
    for task in tasks:
        recording.forget()
        try:
            extraction = language.perform(task).value
        except RecordingError:
            counts.without_reply += 1
            continue
        except TaskFailed:
            counts.unusable += 1
            continue
        if recording.last is None:  # a passage of white space makes no request
            counts.without_reply += 1
            continue
        request, reply = recording.last
        target = _supported_part(task, parse_reply(reply.text, ExtractReply), extraction)
        if request.key in used:
            counts.repeated += 1
        elif target is None:
            counts.unusable += 1
        else:
            used.add(request.key)
            # The messages before the first reply, and the final reply; repairs between them are left out.
            prompt = takewhile(lambda message: message.role != "assistant", request.messages)
            said = [*((message.role, message.text) for message in prompt), ("assistant", target.model_dump_json())]
            messages = [{"role": role, "content": whole_text(text)} for role, text in said]
            yield task.unit, json.dumps({"messages": messages}, ensure_ascii=False).encode() + b"\n"


def _supported_part(task: Extract, reply: ExtractReply, extraction: Extraction) -> ExtractReply | None:
    """The reply reduced to its extraction, without facts that name no sentence, or only entities that are not in the text.

    None if it had facts and none remains.
    """
    facts = []
    for noted, fact in zip(grounded_facts(task, reply)[0], extraction.facts, strict=True):
        named = noted.sentence and (fact.source != task.unit.sources[0] or 1 in noted.sentence)
        if named and (fact.entities or not noted.entities):
            triple = [fact.triple.subject, fact.triple.relation, fact.triple.object] if fact.triple else []
            names = list(fact.entities)
            facts.append(FactReply(text=fact.text, entities=names, sentence=noted.sentence, triple=triple))
    if not facts and any(fact.text.strip() for fact in reply.facts):
        return None
    types = {entity.name.casefold(): entity.type for entity in reversed(reply.entities)}
    entities = [EntityReply(name=name, type=types.get(name.casefold(), "")) for name in extraction.entities]
    return ExtractReply(entities=entities, facts=facts)


def _manifest(model: str, counts: TrainingCounts, out: Path, share: float) -> dict[str, object]:
    wording = json.dumps([[asdict(load_prompt(name)) for name in ("extract", "schema")], schema_of(ExtractReply)])
    return {
        "task": _TASK,
        "model": model,
        "prompts": hashlib.sha256(wording.encode()).hexdigest()[:12],
        "counts": asdict(counts),
        "split": "a document is for validation if the first 8 bytes of SHA-256 of '0 DOCUMENT' are below the share",
        "validation_share": share,
        "sha256": {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in (TRAIN, VALIDATION)},
    }
