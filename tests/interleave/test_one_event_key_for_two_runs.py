"""Two signals with one event key for two runs at once: one is accepted, the other returns false."""

from __future__ import annotations

from tests.sql.drive import Engine, wait

SIGNAL = "select accepted from fn_signal(1, %s, 'go', '{}', 'the-key')"


def test_the_second_of_two_signals_with_one_key_is_not_accepted(sessions, db):
    engine = Engine(db)
    engine.publish("w", wait("a", "go"))
    runs = [engine.start("w"), engine.start("w")]
    first, second = sessions(), sessions()
    assert first.one(SIGNAL, (runs[0],)) is True
    accepted = second.start_blocked(lambda: second.one(SIGNAL, (runs[1],)))
    first.commit()
    assert accepted.result(60) is False
    second.commit()
    assert [engine.run_state(run) for run in runs] == ["completed", "in_progress"]
