"""The Messages API's answers as bytes: one JSON message, or the server-sent events that build it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from .request import Request
from .script import Answer, Say, Use

Json = dict[str, Any]

CUT = b'event: content_block_start\ndata: {"type": "content_block_start", "index": 0, "content_bl'
GARBAGE = b"data: {this is not a message\n\n"


def message(answer: Answer, request: Request, serial: int) -> Json:
    """Build the whole message; its id must never come twice, or the CLI loops (measured with CLI 2.1.327)."""
    place = f"{request.role}_{request.session}_{request.step + 1}"
    used = any(isinstance(block, Use) for block in answer.blocks)
    return {
        "id": f"msg_{place}_{serial}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [_block(block, f"toolu_{place}_{n}") for n, block in enumerate(answer.blocks, 1)],
        "stop_reason": answer.stop_reason or ("tool_use" if used else "end_turn"),
        "stop_sequence": None,
        "usage": asdict(answer.usage),
    }


def _block(block: Say | Use, tool_id: str) -> Json:
    match block:
        case Say(text):
            return {"type": "text", "text": text}
        case Use(tool, value):
            return {"type": "tool_use", "id": tool_id, "name": tool, "input": dict(value)}


def events(whole: Json) -> Iterator[bytes]:
    """Give the fewest events that the CLI accepts (measured with CLI 2.1.327)."""
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    output = {"output_tokens": whole["usage"]["output_tokens"]}
    usage = {**whole["usage"], "output_tokens": 1}
    begun = {**whole, "content": [], "stop_reason": None, "usage": usage}
    yield _event("message_start", message=begun)
    yield _event("ping")
    for index, block in enumerate(whole["content"]):
        yield from _block_events(index, block)
    yield _event("message_delta", delta=end, usage=output)
    yield _event("message_stop")


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[bytes]:
    if block["type"] == "text":
        empty, key, kind, content = {**block, "text": ""}, "text", "text_delta", block["text"]
    else:
        content = json.dumps(block["input"])
        empty, key, kind = {**block, "input": {}}, "partial_json", "input_json_delta"
    yield _event("content_block_start", index=index, content_block=empty)
    for start in range(0, len(content), 200):
        delta = {"type": kind, key: content[start : start + 200]}
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **values: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()
