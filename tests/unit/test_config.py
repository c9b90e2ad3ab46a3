"""Settings come from the environment; the command line overrides them; an error names the wrong setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell import config
from stepwell.errors import UsageError


def test_without_settings_the_embedded_server_is_used():
    settings = config.load({})
    assert settings.is_embedded
    assert settings.data_dir.name == "stepwell"
    assert settings.data_dir.is_absolute()


def test_an_address_selects_another_server():
    settings = config.load({"STEPWELL_DATABASE_URL": "postgresql://db.example/app"})
    assert settings.database_url == "postgresql://db.example/app"
    assert not settings.is_embedded


def test_a_key_value_string_is_an_address():
    assert config.load({}, database_url="host=/run dbname=app").database_url == "host=/run dbname=app"


def test_an_empty_variable_is_no_setting():
    assert config.load({"STEPWELL_DATABASE_URL": "", "STEPWELL_DATA_DIR": ""}).is_embedded


def test_a_data_folder_on_the_command_line_overrides_an_address_in_the_environment(tmp_path):
    settings = config.load({"STEPWELL_DATABASE_URL": "postgresql://db.example/app"}, data_dir=tmp_path)
    assert settings.is_embedded
    assert settings.data_dir == tmp_path


def test_a_data_folder_is_made_absolute():
    assert config.load({"STEPWELL_DATA_DIR": "here"}).data_dir == Path.cwd() / "here"


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("STEPWELL_DATABASE_URL", "mysql://x", "postgresql://"),
        ("STEPWELL_LISTEN_URL", "nowhere", "postgresql://"),
        ("STEPWELL_LOG_LEVEL", "loud", "debug, info, warning, error"),
        ("STEPWELL_POOL_MAX_SIZE", "0", "1 to 100"),
        ("STEPWELL_POOL_MAX_SIZE", "many", "1 to 100"),
        ("STEPWELL_POOL_MAX_SIZE", "101", "1 to 100"),
        ("STEPWELL_DEBUG", "perhaps", "1, 0, true, false"),
    ],
)
def test_the_error_names_the_wrong_setting_and_what_is_accepted(name, value, accepted):
    with pytest.raises(UsageError) as caught:
        config.load({name: value})
    assert name in caught.value.message
    assert accepted in (caught.value.hint or "")


def test_the_error_does_not_repeat_a_wrong_address_with_its_password():
    with pytest.raises(UsageError) as caught:
        config.load({"STEPWELL_DATABASE_URL": "mysql://me:secret@host/x"})
    assert "secret" not in caught.value.sentence()


def test_address_and_folder_exclude_each_other(tmp_path):
    with pytest.raises(UsageError):
        config.load({}, database_url="postgresql://x/y", data_dir=tmp_path)
