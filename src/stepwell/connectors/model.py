"""Call a language model with an OpenAI-style API: receives messages, returns its answer, tokens and cost.

A call changes nothing in the other system, but it costs money: a model without a price is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from stepwell.connectors.address import service_address
from stepwell.connectors.base import (
    Action,
    Effect,
    EffectRefused,
    EffectUnknown,
    OperationSpec,
    Usage,
    no_such_operation,
)
from stepwell.connectors.secrets import SecretRef, opened_secrets
from stepwell.connectors.transport import HttpLimits, exchange
from stepwell.errors import UsageError

MESSAGES_LIMIT: Final = 1_000
# The fields that an action may set; model, streaming and account come from target and settings.
ACCEPTED_FIELDS: Final = frozenset({
    "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "tools",
    "tool_choice", "response_format", "presence_penalty", "frequency_penalty", "reasoning_effort",
})  # fmt: skip
FIELD_TYPES: Final = {
    "messages": "array", "temperature": "number", "top_p": "number", "max_tokens": "integer",
    "max_completion_tokens": "integer", "seed": "integer", "tools": "array",
}  # fmt: skip
_TOKENS_PER_PRICE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Price of a million tokens, in millionths of the currency: 2.50 is 2_500_000."""

    input_micros: int
    output_micros: int
    currency: str = "USD"

    def __post_init__(self) -> None:
        if min(self.input_micros, self.output_micros) < 0 or len(self.currency) != 3:
            raise UsageError(
                "prices has a negative price or a wrong currency; accepted: 0 or more, and three letters",
                field="prices",
            )

    def cost_micros(self, input_tokens: int, output_tokens: int) -> int:
        """The cost, rounded up, so that the sum of many small calls is never too low."""
        total = input_tokens * self.input_micros + output_tokens * self.output_micros
        return -(-total // _TOKENS_PER_PRICE)


class ModelConnector:
    """One provider. Operation `chat`: the target is the model, the fields are those of a chat completion."""

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        prices: Mapping[str, ModelPrice],
        secret: SecretRef | None = None,
        provider: str | None = None,
        limits: HttpLimits | None = None,
        proxy: str | None = None,
    ) -> None:
        """`base_url` ends before /chat/completions, such as https://api.example.com/v1."""
        address = service_address(base_url, "base_url", "https://host/v1")
        self._name = name
        self._url = f"{address}/chat/completions"
        self._prices = dict(prices)
        self._secret = secret
        self._provider = provider or urlsplit(address).hostname or address
        self._limits = limits or HttpLimits(read_seconds=120.0, total_seconds=300.0)
        self._proxy = proxy

    @property
    def name(self) -> str:
        return self._name

    @property
    def operations(self) -> Mapping[str, OperationSpec]:
        return {
            "chat": OperationSpec(
                writes=False, idempotent=False, reversible=False, confirmable=False, fields=FIELD_TYPES
            )
        }

    def canonical(self, operation: str, target: str) -> str:
        """The name of a model with a price, as the settings write it."""
        self._price(target)
        return target

    async def perform(self, action: Action) -> Effect:
        price = self._checked(action)
        with opened_secrets() as opened:
            headers = {"Content-Type": "application/json"}
            if action.idempotency_key:
                headers["Idempotency-Key"] = action.sent_key
            if self._secret is not None:
                headers["Authorization"] = f"Bearer {opened.open(self._secret).reveal()}"
            body = {**action.fields, "model": action.target, "stream": False}
            answer = await exchange(
                "POST", self._url, writes=False, limits=self._limits, headers=headers, body=body,
                proxy=self._proxy,
            )  # fmt: skip
            result = _result(answer.body)
            input_tokens, output_tokens = _tokens(answer.body)
            cost = price.cost_micros(input_tokens, output_tokens)
            usage = Usage(self._provider, action.target, input_tokens, output_tokens, cost, price.currency)
            return opened.clean(Effect(result, _text(answer.body.get("id")), usage=usage))

    async def confirm(self, action: Action) -> Effect | None:
        raise EffectUnknown(
            f"{self._name}.{action.operation} cannot be confirmed: the provider does not store the answer"
        )

    def _checked(self, action: Action) -> ModelPrice:
        if action.operation != "chat":
            raise no_such_operation(self._name, action.operation, self.operations)
        price = self._price(action.target)
        unknown = sorted(set(action.fields) - ACCEPTED_FIELDS)
        if unknown:
            raise EffectRefused(
                f"{unknown[0]}: not accepted", hint=f"accepted are {', '.join(sorted(ACCEPTED_FIELDS))}"
            )
        messages = action.fields.get("messages")
        if not isinstance(messages, (list, tuple)) or not 1 <= len(messages) <= MESSAGES_LIMIT:
            raise EffectRefused(
                f"messages is not accepted; accepted: a list of 1 to {MESSAGES_LIMIT}", field="messages"
            )
        return price

    def _price(self, model: str) -> ModelPrice:
        price = self._prices.get(model)
        if price is None:
            known = ", ".join(sorted(self._prices)) or "none"
            raise EffectRefused(
                f"model {model!r} has no price in the settings", hint=f"models with a price: {known}"
            )
        return price


def _result(body: Any) -> dict[str, Any]:
    choices = body.get("choices") if isinstance(body, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if first is None or not isinstance(message, dict):
        raise EffectRefused("the answer has no choices[0].message", hint="use an OpenAI-style API")
    result = {
        "text": message.get("content"),
        "finish_reason": first.get("finish_reason"),
        "model": body.get("model"),
    }
    if message.get("tool_calls"):
        result["tool_calls"] = message["tool_calls"]
    return result


def _tokens(body: Mapping[str, Any]) -> tuple[int, int]:
    usage = body.get("usage")
    counts = [usage.get(name) if isinstance(usage, dict) else None for name in _TOKEN_NAMES]
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        raise EffectRefused("the answer has no usage, so its cost cannot be recorded")
    return int(counts[0] or 0), int(counts[1] or 0)


_TOKEN_NAMES: Final = ("prompt_tokens", "completion_tokens")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
