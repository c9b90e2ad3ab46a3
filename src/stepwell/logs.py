"""Write log lines: receives an event with its fields, writes one line, as text or JSON.

All loggers are loggers of the standard library: in a program with a worker, the logging configuration of the
program decides what is shown. The command line calls `configure`. While a handler runs, every line of every
logger has its run, step and attempt.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

# Their lines contain whole addresses, which may have secrets in the query.
HTTP_CLIENTS: Final = ("httpx", "httpcore")
# Frames between the caller and the standard library, so that a record has the place of the caller.
FRAMES: Final = 3
RESERVED: Final = ("event", "level", "logger", "timestamp")

Fields = Mapping[str, Any]

_chosen: tuple[str, str] | None = None
_installed: logging.Handler | None = None
_is_guarded = False


class Line:
    """The message of a log record; as text it is the event and its fields in one line."""

    __slots__ = ("event", "fields")

    def __init__(self, event: str, fields: Fields) -> None:
        self.event = event
        self.fields = {name: value for name, value in fields.items() if value is not None}

    def __str__(self) -> str:
        return self.event + _text(self.fields)


class FieldLogger:
    """A logger of the standard library whose lines have fields: `log.info("paid", amount=3)`."""

    __slots__ = ("_fields", "_logger")

    def __init__(self, logger: logging.Logger, fields: Fields) -> None:
        self._logger = logger
        self._fields = fields

    def bind(self, **fields: Any) -> FieldLogger:
        """A logger with more fields."""
        return FieldLogger(self._logger, {**self._fields, **fields})

    def log(self, level: int, event: str, *, exc_info: Any = None, **fields: Any) -> None:
        self._write(level, event, exc_info, fields)

    def debug(self, event: str, *, exc_info: Any = None, **fields: Any) -> None:
        self._write(logging.DEBUG, event, exc_info, fields)

    def info(self, event: str, *, exc_info: Any = None, **fields: Any) -> None:
        self._write(logging.INFO, event, exc_info, fields)

    def warning(self, event: str, *, exc_info: Any = None, **fields: Any) -> None:
        self._write(logging.WARNING, event, exc_info, fields)

    def error(self, event: str, *, exc_info: Any = None, **fields: Any) -> None:
        self._write(logging.ERROR, event, exc_info, fields)

    def critical(self, event: str, *, exc_info: Any = None, **fields: Any) -> None:
        self._write(logging.CRITICAL, event, exc_info, fields)

    def exception(self, event: str, *, exc_info: Any = True, **fields: Any) -> None:
        """An error with the traceback of the present exception."""
        self._write(logging.ERROR, event, exc_info, fields)

    def _write(self, level: int, event: str, exc_info: Any, fields: Fields) -> None:
        if self._logger.isEnabledFor(level):
            line = Line(str(event), {**self._fields, **fields})
            self._logger.log(level, line, exc_info=exc_info, stacklevel=FRAMES)


def get_logger(name: str, **fields: Any) -> FieldLogger:
    """A logger with fields: `log.info("event", amount=3)`; `bind` returns a logger with more fields."""
    guard_records()
    return FieldLogger(logging.getLogger(name), fields)


def guard_records() -> None:
    """From now on no record of any logger of this process has a secret: libraries log what they receive."""
    global _is_guarded
    if not _is_guarded:
        _is_guarded = True
        make = logging.getLogRecordFactory()
        logging.setLogRecordFactory(lambda *args, **named: _without_secrets(make(*args, **named)))


def _without_secrets(record: logging.LogRecord) -> logging.LogRecord:
    from stepwell import redaction  # commands that log nothing do not load its patterns

    if isinstance(record.msg, Line):
        record.msg = Line(redaction.text(record.msg.event), redaction.value(record.msg.fields))
    else:
        try:
            said = record.getMessage()
        except Exception:
            # The standard library would show the arguments of such a call as they are, with a traceback.
            said = f"{record.msg} (its arguments do not fit)"
            record.msg, record.args = said, ()
        if (cleaned := redaction.text(said)) != said:
            record.msg, record.args = cleaned, ()
    if record.exc_info and record.exc_info[0] is not None:
        shown = record.exc_text or "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        record.exc_text = redaction.text(shown)
    return record


def handler_fields() -> Fields:
    """Run, step and attempt of the present handler; empty outside of a handler."""
    # Most programs log and run no handler.
    from stepwell import present_handler

    handler = present_handler.get()
    return {} if handler is None else handler.log_fields()


class LogFilter(logging.Filter):
    """For your own formatter: gives each record `run`, `step` and `attempt` of the handler, or None."""

    def filter(self, record: logging.LogRecord) -> bool:
        fields = handler_fields()
        for name in ("run", "step", "attempt"):
            setattr(record, name, fields.get(name))
        return True


class TextFormatter(logging.Formatter):
    """`WARNING: attempt failed run=3 step=charge`; for a service the time comes first."""

    def __init__(self, *, with_time: bool = False) -> None:
        super().__init__()
        self._with_time = with_time

    def format(self, record: logging.LogRecord) -> str:
        time = f"{_time(record):%Y-%m-%d %H:%M:%S} " if self._with_time else ""
        shown = record.msg.fields if isinstance(record.msg, Line) else {}
        more = {name: value for name, value in handler_fields().items() if name not in shown}
        text = f"{time}{record.levelname}: {record.getMessage()}{_text(more)}"
        trace = self._trace(record)
        return f"{text}\n{trace}" if trace else text

    def _trace(self, record: logging.LogRecord) -> str:
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        return record.exc_text or ""


class JsonFormatter(TextFormatter):
    """One JSON object in one line: event, level, logger, timestamp, and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line = record.msg if isinstance(record.msg, Line) else Line(record.getMessage(), {})
        fields = {**handler_fields(), **line.fields}
        shown: dict[str, Any] = {
            "timestamp": _time(record).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": line.event,
        }
        shown |= {f"{name}_" if name in RESERVED else name: value for name, value in fields.items()}
        if trace := self._trace(record):
            shown["exception"] = trace
        try:
            return json.dumps(shown, default=str, ensure_ascii=False, allow_nan=False)
        except (ValueError, TypeError):
            return json.dumps({name: str(value) for name, value in shown.items()}, ensure_ascii=False)


def configure(level: str, style: str = "auto", *, is_service: bool = False) -> None:
    """Log to stderr. `auto`: JSON for a service whose stderr is not a terminal, else text."""
    global _chosen, _installed
    guard_records()
    if style == "auto":
        style = "json" if is_service and not sys.stderr.isatty() else "text"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter(with_time=is_service))
    root = logging.getLogger()
    if _installed is not None:
        root.removeHandler(_installed)
    root.addHandler(handler)
    root.setLevel(level.upper())
    _installed = handler
    _chosen = (level, style)
    quiet_http_clients()
    if is_service:
        _take_over_stderr()


def _take_over_stderr() -> None:
    """Warnings, and errors that nobody catches, are log lines: Python writes them to stderr as they are."""
    logging.captureWarnings(True)
    threading.excepthook = _thread_failed
    sys.unraisablehook = _unraisable


def _thread_failed(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is not SystemExit:
        name = "" if args.thread is None else args.thread.name
        get_logger("stepwell.threads").error("a thread failed", thread=name, exc_info=args.exc_value)


def _unraisable(args: sys.UnraisableHookArgs) -> None:
    what = args.err_msg or "Exception ignored in"
    get_logger("stepwell").error(f"{what}: {args.object!r}", exc_info=args.exc_value)


@contextmanager
def configured(level: str, style: str) -> Iterator[None]:
    """Log to stderr during the block, as a service."""
    global _chosen, _installed
    root = logging.getLogger()
    before = root.level
    configure(level, style, is_service=True)
    try:
        yield
    finally:
        assert _installed is not None
        root.removeHandler(_installed)
        root.setLevel(before)
        _chosen = _installed = None


def choice() -> tuple[str, str] | None:
    """(level, style) of `configure`, for child processes; None if it was not called."""
    return _chosen


def quiet_http_clients() -> None:
    """Show only warnings of HTTP clients, unless the program has set another level."""
    for name in HTTP_CLIENTS:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _text(fields: Fields) -> str:
    return "".join(f" {name}={_shown(value)}" for name, value in fields.items())


def _shown(value: Any) -> str:
    text = str(value)
    is_plain = bool(text) and text.isprintable() and not any(sign in text for sign in ' "=')
    return text if is_plain else json.dumps(text, ensure_ascii=False)
