"""What an answer of the model cost: its tokens, read from the bytes as they pass, times the price list."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

LONGEST_ANSWER = 32 * 2**20
"""Bytes of one line of a stream, or of one plain answer, that are looked at for the usage."""

BYTES_PER_TOKEN = 4
BYTES_PER_STREAMED_TOKEN = 20  # an event wraps a few tokens in some hundred bytes


class Price(NamedTuple):
    """US dollars for a million tokens; a cache write costs 1.25 times the input, one for an hour twice."""

    input: float
    output: float
    cache_read: float


class Tally(NamedTuple):
    """Tokens and their cost; a tuple and not a dataclass, whose import the broker's start would pay for."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    estimated: bool = False

    def plus(self, other: "Tally") -> "Tally":
        """The sum; estimated if any part is."""
        return Tally(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cost_usd + other.cost_usd,
            self.estimated or other.estimated,
        )


# https://platform.claude.com/docs/en/about-claude/pricing and the list inside Claude Code 2.1.327 (equal)
_PRICES = {
    "(fable|mythos)-5-2": Price(8, 40, 0.2),
    "(fable|mythos)-5-1": Price(10, 50, 0.25),
    "(fable|mythos)-5": Price(10, 50, 1),
    "opus-5-5": Price(4, 20, 0.2),
    "opus-(5|4-[5-8])": Price(5, 25, 0.5),
    "opus-4(-[01])?": Price(15, 75, 1.5),
    "sonnet-5-5": Price(2, 10, 0.1),
    "sonnet-5": Price(2, 10, 0.2),
    "sonnet-4(-[056])?|3-[57]-sonnet": Price(3, 15, 0.3),
    "haiku-5-5": Price(0.1, 0.5, 0.01),
    "haiku-4-5": Price(1, 5, 0.1),
    "3-5-haiku": Price(0.8, 4, 0.08),
}
_LONG_PROMPT = (100_000, {"haiku-5-5": Price(0.5, 2.5, 0.05)})  # the only one with a dearer second band
DEAREST = Price(15, 75, 1.5)
_VERSION_ENDS = r"(?!\d|-\d\d?(?!\d))"  # a date may follow, a further version number may not


def price_of(model: str, prompt_tokens: int = 0) -> Price | None:
    """The price of a model by its name, in whatever dress a gateway gives it; None if it isn't listed."""
    name = model.lower().replace(".", "-")
    for pattern, price in _PRICES.items():
        if re.search(f"({pattern}){_VERSION_ENDS}", name):
            above, long_prompt = _LONG_PROMPT
            return long_prompt.get(pattern, price) if prompt_tokens > above else price
    return None


class Meter:
    """Is shown one answer's bytes and tells what they cost; where it can't know it estimates, and says so."""

    def __init__(self, model: str, sent: int, *, streamed: bool) -> None:
        """`model` and `sent` are the request's model and its length in bytes."""
        self._models = [model]
        self._sent = sent
        self._streamed = streamed
        self.received = 0
        self._rest = b""
        self._tokens = dict.fromkeys(_FIELDS, 0)
        self._hour_writes = 0
        self._complete = False

    def feed(self, piece: bytes) -> None:
        """Look at the next bytes of the answer, wherever they were cut."""
        self.received += len(piece)
        self._rest += piece
        if self._streamed and b"\n" in piece:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._read_line(line)
        if len(self._rest) > LONGEST_ANSWER:
            self._rest = b""  # not an answer of the Messages API; what it cost will be an estimate

    def tally(self) -> Tally:
        """What the answer cost, once it has ended one way or another."""
        if not self._streamed:
            self._read_message(self._rest)
        tokens = self._tokens
        if not self._complete:
            per_token = BYTES_PER_STREAMED_TOKEN if self._streamed else BYTES_PER_TOKEN
            tokens["output_tokens"] = max(tokens["output_tokens"], self.received // per_token)
            if not self._prompt_tokens:
                tokens["input_tokens"] = self._sent // BYTES_PER_TOKEN
        known = [price for model in self._models if (price := price_of(model, self._prompt_tokens))]
        return Tally(
            input_tokens=tokens["input_tokens"],
            output_tokens=tokens["output_tokens"],
            cache_read_tokens=tokens["cache_read_input_tokens"],
            cache_write_tokens=tokens["cache_creation_input_tokens"],
            cost_usd=self._cost(known[-1] if known else DEAREST),
            estimated=not (known and self._complete),
        )

    @property
    def _prompt_tokens(self) -> int:
        return sum(self._tokens.values()) - self._tokens["output_tokens"]

    def _cost(self, price: Price) -> float:
        written = self._tokens["cache_creation_input_tokens"]
        dollars = price.input * (self._tokens["input_tokens"] + 1.25 * written + 0.75 * self._hour_writes)
        dollars += price.output * self._tokens["output_tokens"]
        dollars += price.cache_read * self._tokens["cache_read_input_tokens"]
        return dollars / 1e6

    def _read_line(self, line: bytes) -> None:
        if not line.startswith(b"data:") or b'"message_' not in line:  # most lines are content
            return
        match _parsed(line.removeprefix(b"data:")):
            case {"type": "message_start", "message": {"model": str(model), "usage": {**usage}}}:
                self._models.append(model)
                self._count(usage)
            case {"type": "message_delta", "usage": {**usage}}:
                self._count(usage)
            case {"type": "message_stop"}:
                self._complete = self._prompt_tokens > 0
            case _:
                pass

    def _read_message(self, body: bytes) -> None:
        match _parsed(body):
            case {"model": str(model), "usage": {**usage}}:
                self._models.append(model)
                self._count(usage)
                self._complete = True
            case _:
                pass

    def _count(self, usage: Mapping[Any, Any]) -> None:
        """Take over a usage; those of later events are running totals, and may leave numbers out."""
        written = usage.get("cache_creation")
        if isinstance(written, dict):
            self._hour_writes = max(self._hour_writes, _number(written.get("ephemeral_1h_input_tokens")))
        for field in _FIELDS:
            self._tokens[field] = max(self._tokens[field], _number(usage.get(field)))


_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _parsed(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
