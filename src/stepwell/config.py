"""Read settings: receives the environment and command-line overrides, returns one frozen `Settings`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stepwell.errors import UsageError

URL_SCHEMES = ("postgresql://", "postgres://")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("auto", "text", "json")
POOL_SIZE_LIMIT = 100
API_REQUESTS_LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings. If `database_url` is None, the embedded server in `data_dir` is used."""

    database_url: str | None
    data_dir: Path
    # A direct address for LISTEN, if database_url is a transaction pooler.
    listen_url: str | None = None
    # The addresses of single processes, each with the login role of the process; the default is database_url.
    worker_url: str | None = None
    keeper_url: str | None = None
    slack_url: str | None = None
    log_level: str = "info"
    # text or json; auto: json for a service whose stderr is not a terminal.
    log_format: str = "auto"
    pool_max_size: int = 10
    # So many requests a second one caller of the API may make for long; a burst may have four times as many.
    api_requests_per_second: int = 200
    debug: bool = False
    # Binds each call to the person or service that it belongs to.
    token: str | None = field(default=None, repr=False)
    # Where the keeper writes what it sealed: a .jsonl file, https://…, or a folder, also of an object store.
    audit_anchor: str | None = None
    # The file of the private key that signs what the keeper writes there.
    audit_key: str | None = None
    # Where bundles of ended runs are written: a folder, also of an object store; without it the database.
    evidence_store: str | None = None
    # Where sw.Ref stores large values: a folder that all workers share, or an object store.
    ref_store: str | None = None

    @property
    def is_embedded(self) -> bool:
        return self.database_url is None


def load(
    environ: Mapping[str, str] | None = None,
    *,
    database_url: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> Settings:
    """Arguments override the environment; the environment overrides the defaults."""
    env = os.environ if environ is None else environ
    if database_url and data_dir:
        raise UsageError(
            "--database-url and --data-dir cannot be used together",
            hint="give the address of a PostgreSQL server or the folder of the embedded one",
        )
    # A data folder on the command line means the embedded server, even if the environment has a URL.
    url = database_url or (None if data_dir else env.get("STEPWELL_DATABASE_URL") or None)
    return Settings(
        database_url=_checked_url(url, "STEPWELL_DATABASE_URL (--database-url)"),
        listen_url=_checked_url(env.get("STEPWELL_LISTEN_URL") or None, "STEPWELL_LISTEN_URL"),
        worker_url=_process_url(env, "STEPWELL_WORKER_URL", url),
        keeper_url=_process_url(env, "STEPWELL_KEEPER_URL", url),
        slack_url=_process_url(env, "STEPWELL_SLACK_URL", url),
        data_dir=_data_dir(data_dir or env.get("STEPWELL_DATA_DIR") or None),
        log_level=_choice(env, "STEPWELL_LOG_LEVEL", LOG_LEVELS, "info"),
        log_format=_choice(env, "STEPWELL_LOG_FORMAT", LOG_FORMATS, "auto"),
        pool_max_size=_count(env, "STEPWELL_POOL_MAX_SIZE", default=10, limit=POOL_SIZE_LIMIT),
        api_requests_per_second=_count(
            env, "STEPWELL_API_REQUESTS_PER_SECOND", default=200, limit=API_REQUESTS_LIMIT
        ),
        token=env.get("STEPWELL_TOKEN") or None,
        debug=_flag(env, "STEPWELL_DEBUG"),
        audit_anchor=env.get("STEPWELL_AUDIT_ANCHOR") or None,
        audit_key=env.get("STEPWELL_AUDIT_KEY") or None,
        evidence_store=env.get("STEPWELL_EVIDENCE_STORE") or None,
        ref_store=env.get("STEPWELL_REF_STORE") or None,
    )


def user_name() -> str:
    """The account of the user, as the command line names them; its number if it has no name."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _checked_url(url: str | None, name: str) -> str | None:
    """Accept a URL or a libpq `key=value` string. Errors never contain the value: it may have a password."""
    if url is None or url.startswith(URL_SCHEMES) or ("=" in url and "://" not in url):
        return url
    raise UsageError(
        f"{name} is not a PostgreSQL address",
        hint="write postgresql://user@host:5432/database or host=… dbname=…",
        field=name.split()[0],
    )


def _process_url(env: Mapping[str, str], name: str, database_url: str | None) -> str | None:
    """The embedded server has its own addresses; a process has another one only beside a given address."""
    return _checked_url(env.get(name) or None, name) if database_url is not None else None


def _data_dir(value: str | os.PathLike[str] | None) -> Path:
    if value is None:
        import platformdirs

        return platformdirs.user_data_path("stepwell", appauthor=False)
    return Path(value).expanduser().absolute()


def _choice(env: Mapping[str, str], name: str, accepted: tuple[str, ...], default: str) -> str:
    value = (env.get(name) or default).lower()
    if value not in accepted:
        raise UsageError(f"{name} is {value!r}", hint=f"accepted are {', '.join(accepted)}", field=name)
    return value


def _count(env: Mapping[str, str], name: str, *, default: int, limit: int) -> int:
    text = env.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= limit:
        raise UsageError(f"{name} is {text!r}", hint=f"accepted is a number from 1 to {limit}", field=name)
    return int(text)


def _flag(env: Mapping[str, str], name: str) -> bool:
    value = (env.get(name) or "0").lower()
    if value not in ("0", "1", "true", "false"):
        raise UsageError(f"{name} is {value!r}", hint="accepted are 1, 0, true, false", field=name)
    return value in ("1", "true")
