"""Settings: where they come from, which one counts, and what a wrong one is told."""

from pathlib import Path

import pytest

from app.settings import BadSettings, Settings, load_settings


def test_without_any_setting_it_is_served_here_for_me() -> None:
    settings = load_settings()
    assert (settings.host, settings.port, settings.user) == ("127.0.0.1", 7860, "me")
    assert settings.exemplars == 2
    assert settings.learning.n is None
    assert settings.api_key is None


def test_the_default_home_is_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REMEMBERER_HOME")
    assert load_settings().home.name == "rememberer"
    assert load_settings().home.is_absolute()


def test_the_environment_sets_and_the_command_line_goes_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMEMBERER_PORT", "8000")
    monkeypatch.setenv("REMEMBERER_HOME", "elsewhere")
    monkeypatch.setenv("REMEMBERER_LEARNING__GAMMA", "0.9")
    monkeypatch.setenv("REMEMBERER_LEARNING__N", "3")
    settings = load_settings(port=9000, user=None)
    assert (settings.port, settings.home, settings.user) == (9000, Path("elsewhere"), "me")
    assert (settings.learning.gamma, settings.learning.n) == (0.9, 3)


def test_none_is_written_as_a_word_and_empty_means_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMEMBERER_LEARNING__N", "none")
    monkeypatch.setenv("REMEMBERER_PORT", "")
    settings = load_settings()
    assert settings.learning.n is None
    assert settings.port == 7860


def test_the_key_is_read_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = load_settings()
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in f"{settings} {settings!r} {settings.model_dump_json()}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REMEMBERER_PORT", "abc"),
        ("REMEMBERER_PORT", "99999"),
        ("REMEMBERER_BASE_URL", "localhost:11434"),
        ("REMEMBERER_LOCAL_MODEL", "no/such/model.gguf"),
        ("REMEMBERER_THRESHOLD", "nan"),
        ("REMEMBERER_CANDIDATES", "0"),
        ("REMEMBERER_STEP_LIMIT", "many"),
        ("REMEMBERER_LEARNING", "fast"),
        ("REMEMBERER_LEARNING__GAMMA", "2"),
        ("REMEMBERER_LEARNING__GAMA", "0.5"),
    ],
)
def test_a_wrong_variable_is_named_with_its_value(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings) as caught:
        load_settings()
    assert str(caught.value).startswith(f"{name} is '{value}', but: ")


def test_all_wrong_settings_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMEMBERER_CANDIDATES", "many")
    with pytest.raises(BadSettings) as caught:
        load_settings(port=-1)
    lines = str(caught.value).splitlines()
    assert [line.split()[0] for line in lines] == ["port", "REMEMBERER_CANDIDATES"]


def test_an_unknown_override_is_told_the_names() -> None:
    with pytest.raises(BadSettings, match=r"no setting prot\. There are: .*port"):
        load_settings(prot=1)


def test_every_setting_has_its_sentence() -> None:
    assert [name for name, field in Settings.model_fields.items() if not (field.description or "").endswith(".")] == []
