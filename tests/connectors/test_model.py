"""The model connector: tokens, cost, and which requests and answers are refused."""

from __future__ import annotations

import pytest

from stepwell.connectors.base import Connector, EffectRefused, EffectUnavailable, EffectUnknown, Usage
from stepwell.connectors.model import ModelConnector, ModelPrice
from stepwell.connectors.secrets import SecretRef
from stepwell.connectors.transport import HttpLimits
from stepwell.errors import UsageError
from tests.connectors.http_server import HANG, Reply

pytestmark = pytest.mark.requirement("RT-12")

ASK = {"messages": [{"role": "user", "content": "Which team?"}], "temperature": 0}
ANSWER = {
    "id": "cmpl-1",
    "model": "small-2026-01-01",
    "choices": [{"message": {"role": "assistant", "content": "Network"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1001, "completion_tokens": 3},
}


@pytest.fixture
def model(server, secret):
    server.answer = lambda _: Reply(body=ANSWER)
    return ModelConnector(
        "model", server.url + "/v1", provider="local", secret=SecretRef("env:PLANTED_TOKEN"),
        prices={"small": ModelPrice(150_000, 600_000)}, limits=HttpLimits(read_seconds=0.2),
    )  # fmt: skip


def test_the_effect_holds_tokens_and_cost(server, model, perform, secret):
    assert isinstance(model, Connector)
    effect = perform(model, "chat", "small", ASK)
    assert effect.result == {"text": "Network", "finish_reason": "stop", "model": "small-2026-01-01"}
    # 1001 x 0.15 + 3 x 0.60 millionths are 151.95, rounded up.
    assert effect.usage == Usage("local", "small", 1001, 3, 152, "USD")
    assert effect.external_id == "cmpl-1"
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.json == {**ASK, "model": "small", "stream": False}
    assert seen.headers["authorization"] == f"Bearer {secret}"
    assert model.operations["chat"].writes is False


def test_tool_calls_are_in_the_result(server, model, perform):
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    server.answer = lambda _: Reply(body={**ANSWER, "choices": [{"message": message}]})
    assert perform(model, "chat", "small", ASK).result["tool_calls"] == calls


@pytest.mark.parametrize(
    ("target", "fields", "problem"),
    [
        ("large", ASK, "has no price"),
        ("small", {}, "messages"),
        ("small", {"messages": []}, "messages"),
        ("small", {**ASK, "model": "large"}, "model: not accepted"),
        ("small", {**ASK, "stream": True}, "stream: not accepted"),
    ],
)
def test_a_refused_request_is_not_sent(server, model, perform, target, fields, problem):
    with pytest.raises(EffectRefused, match=problem):
        perform(model, "chat", target, fields)
    assert not server.seen


@pytest.mark.parametrize(
    "body", [{}, [], "text", {"choices": []}, {**ANSWER, "usage": None}, {"choices": [1]}]
)
def test_an_invalid_answer_is_refused(server, model, perform, body):
    server.answer = lambda _: Reply(body=body)
    with pytest.raises(EffectRefused):
        perform(model, "chat", "small", ASK)


@pytest.mark.parametrize("reply", [HANG, Reply(500), Reply(429)], ids=["hang", "500", "429"])
def test_a_lost_answer_means_unavailable(server, model, perform, reply):
    server.answer = lambda _: reply
    with pytest.raises(EffectUnavailable):
        perform(model, "chat", "small", ASK)


def test_a_model_call_cannot_be_confirmed(model, confirm):
    with pytest.raises(EffectUnknown):
        confirm(model, "chat", "small", ASK)


@pytest.mark.parametrize(
    ("tokens", "cost"), [((0, 0), 0), ((1, 0), 1), ((1_000_000, 0), 150_000), ((0, 1_000_000), 600_000)]
)
def test_cost_is_rounded_up(tokens, cost):
    assert ModelPrice(150_000, 600_000).cost_micros(*tokens) == cost


def test_a_negative_price_is_refused():
    with pytest.raises(UsageError):
        ModelPrice(-1, 0)
