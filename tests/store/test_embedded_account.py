"""The account of the server gets access to its files, and to nothing else."""

from __future__ import annotations

import os
import stat

import pytest

from stepwell.store.embedded import account as embedded_account
from stepwell.store.embedded.account import Account

OTHER = Account(uid=54321, gid=54321, is_switched=True)


@pytest.fixture
def install(tmp_path):
    """An installation with the rights of a strict umask."""
    root = tmp_path / "install"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "postgres").touch(mode=0o700)
    (root / "share").mkdir()
    (root / "share" / "data").touch(mode=0o600)
    for folder in (root, root / "bin", root / "share"):
        folder.chmod(0o700)
    return root


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_parent_folders_get_only_search_permission(install, caplog):
    outer = install.parent
    outer.chmod(0o700)
    embedded_account.open_prefixes(install / "bin", OTHER)
    assert (mode(outer), mode(install)) == (0o701, 0o701)
    assert mode(install / "bin") == 0o700
    assert str(outer) in caplog.text


def test_binaries_become_readable_and_executable_but_not_writable(install):
    embedded_account.open_tree(install, OTHER)
    assert mode(install / "bin" / "postgres") == 0o705
    assert mode(install / "share" / "data") == 0o604


def test_for_the_account_of_the_caller_no_rights_change(install):
    own = Account(os.geteuid(), os.getegid(), is_switched=False)
    embedded_account.open_prefixes(install / "bin", own)
    embedded_account.open_tree(install, own)
    assert mode(install) == 0o700


def test_folders_with_enough_rights_are_not_changed(install):
    install.chmod(0o755)
    embedded_account.open_prefixes(install / "bin", OTHER)
    assert mode(install) == 0o755


def test_tools_do_not_get_the_pg_variables_of_the_caller(monkeypatch):
    monkeypatch.setenv("PGHOST", "elsewhere")
    assert not [name for name in embedded_account.tool_environment() if name.startswith("PG")]
