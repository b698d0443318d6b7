"""The libraries that `growth.py` compares with: faiss over vectors, tantivy over texts. Runs in an interpreter that has them.

    python -m benchmarks.growth_peers "faiss Flat"|"faiss HNSW"|tantivy FOLDER CORPUS.jsonl

FOLDER holds `vectors.npy`, `questions.npy` and `questions.json`. Prints JSON: seconds of building, milliseconds per
question; nothing if the library is missing. One thread each. HNSW has 32 links, 40 candidates while building (the default of
faiss) and 128 while searching.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 10
WARM = 3


def faiss_index(name: str, folder: Path) -> Callable[[int], object]:
    """Build faiss over the vectors; returns a search by question number."""
    import faiss  # type: ignore[import-not-found, unused-ignore]
    import numpy as np

    faiss.omp_set_num_threads(1)
    vectors, questions = np.load(folder / "vectors.npy", mmap_mode="r"), np.load(folder / "questions.npy")
    if name.endswith("Flat"):
        index: Any = faiss.IndexFlatIP(vectors.shape[1])
    else:
        index = faiss.IndexHNSWFlat(vectors.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efSearch = 128
    for start in range(0, len(vectors), 65_536):
        index.add(np.ascontiguousarray(vectors[start : start + 65_536]))
    return lambda place: index.search(questions[place : place + 1], LIMIT)


def tantivy_index(folder: Path, corpus: Path, place: str) -> Callable[[int], object]:
    """Build tantivy over the texts; returns a search by question number."""
    import tantivy  # type: ignore[import-not-found, unused-ignore]

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False)
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    index = tantivy.Index(builder.build(), path=place)
    writer = index.writer(heap_size=256_000_000, num_threads=1)
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            writer.add_document(tantivy.Document(text=f"{one['title']}\n{one['text']}", id=one["id"]))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))

    def search(at: int) -> object:
        query = index.parse_query(questions[at].replace("?", ""), ["text"])
        hits = searcher.search(query, LIMIT).hits
        return [searcher.doc(address)["id"] for _, address in hits]

    return search


def main() -> None:
    name, folder, corpus = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if importlib.util.find_spec(name.split()[0]) is None:
        return
    number = len(json.loads((folder / "questions.json").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as place:
        started = time.perf_counter()
        search = tantivy_index(folder, corpus, place) if name == "tantivy" else faiss_index(name, folder)
        built = time.perf_counter() - started
        times = []
        for at in range(number):
            started = time.perf_counter()
            search(at)
            times.append(1000 * (time.perf_counter() - started))
    print(json.dumps([built, times[WARM:]]))


if __name__ == "__main__":
    main()
