"""The part of the ONNX file format that a graph of ours needs, written as bytes.

A file is a protocol buffer: fields, each a number, a type and a value, where a message is a value too. The `onnx` package writes
the same, but importing it takes a fifth of the time of a search in a fresh process. Numbers of fields and types:
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto; encoding: https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, UINT8, INT8, INT32, INT64 = 1, 2, 3, 6, 7
_TYPES = {"float32": FLOAT, "uint8": UINT8, "int8": INT8, "int32": INT32, "int64": INT64}
_EXTERNAL = 1  # where a tensor's numbers are: in a file
_VARINT, _LENGTH, _FOUR_BYTES = 0, 2, 5

Value = int | float | str | bytes


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # negative numbers in two's complement
    digits = bytearray()
    while number >= 128:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


def _field(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | _FOUR_BYTES) + struct.pack("<f", value)
    encoded = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _LENGTH) + _varint(len(encoded)) + encoded


def _message(*fields: tuple[int, Value | Iterable[Value]]) -> bytes:
    """A message of these fields; one with several values is repeated."""
    single = ((number, [value] if isinstance(value, Value) else value) for number, value in fields)
    return b"".join(_field(number, value) for number, values in single for value in values)


def node(operator: str, inputs: Sequence[str], output: str, attributes: Mapping[str, Value], domain: str = "") -> bytes:
    """An operation with one output."""
    kinds = {float: (2, 1), int: (3, 2), str: (4, 3)}  # the field of the value, and the number of its type
    written = [
        _message((1, name), (kinds[type(value)][0], value), (20, kinds[type(value)][1]))
        for name, value in attributes.items()
    ]
    return _message((1, inputs), (2, output), (4, operator), (5, written), (7, domain))


def tensor(name: str, values: NDArray[Any]) -> bytes:
    """A constant with its numbers."""
    return _tensor(name, values, (9, values.astype(values.dtype.newbyteorder("<")).tobytes()))


def external_tensor(name: str, values: NDArray[Any], file: str, offset: int) -> bytes:
    """A constant whose numbers stand in a file, from `offset` bytes on."""
    entries = {"location": file, "offset": str(offset), "length": str(values.nbytes)}
    written = [_message((1, key), (2, value)) for key, value in entries.items()]
    return _tensor(name, values, (13, written), (14, _EXTERNAL))


def _tensor(name: str, values: NDArray[Any], *numbers: tuple[int, Value | Iterable[Value]]) -> bytes:
    return _message((1, values.shape), (2, _TYPES[np.dtype(values.dtype).name]), (8, name), *numbers)


def port(name: str, type_: int, shape: Sequence[str | int]) -> bytes:
    """An input or output of the graph. Axes of any length have a name."""
    axes = [_message((1 if isinstance(axis, int) else 2, axis)) for axis in shape]
    return _message((1, name), (2, _message((1, _message((1, type_), (2, _message((1, axes))))))))


def model(
    nodes: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
    operators: Mapping[str, int],
    constants: Iterable[bytes] = (),
) -> bytes:
    """A file of one graph. `operators`: the version of each set of operators by its domain."""
    graph = _message((1, nodes), (2, "graph"), (5, constants), (11, inputs), (12, outputs))
    sets = [_message((1, domain), (2, version)) for domain, version in operators.items()]
    return _message((1, _FORMAT), (7, graph), (8, sets))


_FORMAT = 9
"""The version of the file format: that of operators 20."""
