import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from bot.models import describe_uncounted_cost
from config.models import CatalogueError, ModelCatalogue, ModelWindow, load_catalogue
from config.settings import Settings
from config.update_prices import make_list
from pipeline.prompt.prompts import STYLES

LIST = (files("config") / "model_prices.tsv").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def catalogue() -> ModelCatalogue:
    return load_catalogue()


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gpt-4", ModelWindow(8192, 4096)),
        ("gpt-4o-mini", ModelWindow(128000, 16384)),
        ("gpt-4.1-nano", ModelWindow(1047576, 32768)),
        ("openai/gpt-4o", ModelWindow(128000, 16384)),
        ("gpt-5", ModelWindow(272000, 128000)),
        ("openrouter/Anthropic/Claude-Sonnet-4-5", ModelWindow(200000, 64000)),
        ("llama3.2:3b", ModelWindow(128000, 2048)),
    ],
)
def test_window_of_a_model_is_from_the_longest_pattern(
    catalogue: ModelCatalogue, name: str, window: ModelWindow
) -> None:
    assert catalogue.get_window(name) == window


def test_window_of_an_unknown_model_is_cautious(catalogue: ModelCatalogue) -> None:
    assert catalogue.get_window("something-new") == ModelWindow(32768, 4096)


def test_window_of_a_local_model_is_its_context_size(
    catalogue: ModelCatalogue,
) -> None:
    local = catalogue.get_local("qwen2.5-coder-1.5b")
    assert catalogue.get_window("qwen2.5-coder-1.5b") == ModelWindow(local.n_ctx, local.max_output_tokens)
    assert catalogue.get_window("qwen2.5-coder-32b") != local.window


def test_window_always_leaves_room_for_a_prompt(catalogue: ModelCatalogue) -> None:
    listed = {line.split("\t")[0] for line in LIST.splitlines() if not line.startswith("#")}
    names = {family.pattern.replace("*", "") for family in catalogue.families} | listed
    for window in map(catalogue.get_window, names | {model.name for model in catalogue.local_models}):
        assert window.max_output_tokens < window.max_input_tokens


WINDOWS = """
gpt-4-turbo 128000 4096
gpt-4o-2024-11-20 128000 16384
chatgpt-4o-latest 128000 16384
gpt-4.1 1047576 32768
gpt-5-mini 272000 128000
gpt-5.2-2025-12-11 272000 128000
openai/gpt-5-chat 128000 16384
gpt-5.4 1050000 128000
gpt-5.6-sol 922000 128000
gpt-6-luna 922000 128000
gpt-6.1-sol-2026-10-20 922000 128000
openai/gpt-oss-20b:free 131072 32768
o3-mini 200000 100000
o4-mini-2025-04-16 200000 100000
claude-3-5-sonnet-latest 200000 8192
claude-3-7-sonnet-20250219 200000 64000
claude-sonnet-4-5-20250929 200000 64000
anthropic/claude-sonnet-4.5 200000 64000
anthropic/claude-opus-4.5:beta 200000 64000
us.anthropic.claude-opus-4-6-v1:0 1000000 128000
anthropic/claude-sonnet-5.5 1000000 128000
models/gemini-2.5-pro 1048576 65536
google/gemini-2.5-flash 1048576 65536
gemini-3.8-flash 1048576 65536
gemini-flash-latest 1048576 65536
gemini-1.5-pro-latest 1000000 8192
deepseek-chat 131072 8192
deepseek/deepseek-v4-pro 1000000 393216
moonshotai/kimi-k2.5 262144 32768
kimi-k3 1048576 32768
mistral-large-latest 262144 65536
mistralai/mistral-small-3.2-24b-instruct:free 131072 32768
open-mixtral-8x22b 65536 8192
mixtral:8x7b 32768 8192
google/gemma-3-27b-it:free 98304 8192
gemma4:12b 128000 8192
meta-llama/llama-3.3-70b-instruct:free 131072 8192
meta-llama/Llama-4-Maverick 131072 8192
qwen/qwen3-235b-a22b-2507 262144 32768
qwen/qwen3.7-plus 991808 65536
qwen3.6:27b 262144 65536
z-ai/glm-4.6 200000 50000
glm-5.2 1000000 131072
x-ai/grok-4.5 500000 32000
grok-4-fast 2000000 32000
MiniMax-M3 512000 32768
"""


@pytest.mark.parametrize("line", WINDOWS.split("\n")[1:-1])
def test_window_of_a_known_model_is_its_familys(catalogue: ModelCatalogue, line: str) -> None:
    name, reads, writes = line.split()
    assert catalogue.get_window(name) == ModelWindow(int(reads), int(writes))


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("amazon/nova-lite-v1", 300_000),
        ("bytedance-seed/seed-1.6:free", 262_144),
        ("baidu/ernie-4.5-vl-424b-a47b", 123_000),
    ],
)
def test_window_outside_families_comes_from_the_price_list(catalogue: ModelCatalogue, name: str, reads: int) -> None:
    assert catalogue.get_window(name).max_input_tokens == reads


@pytest.mark.parametrize(
    ("name", "host", "dollars"),
    [
        ("gpt-4o-mini", None, 0.15),
        ("GPT-4o-mini", "my-proxy.example.org", 0.15),
        ("openai/gpt-4o-mini", "openrouter.ai", 0.15),
        ("gpt-4o", "mine.openai.azure.com", 2.5),
        # A date and a variant at the same price may follow. A dot may be a dash.
        ("gpt-6.1-sol-2026-10-20", "api.openai.com", 2.0),
        ("claude-sonnet-4-5-20250929", "api.anthropic.com", 3.0),
        ("anthropic/claude-sonnet-4.5", "openrouter.ai", 3.0),
        ("anthropic/claude-opus-4.5:beta", "openrouter.ai", 5.0),
        ("models/gemini-2.5-flash", "generativelanguage.googleapis.com", 0.3),
        ("kimi-k2.5", "api.moonshot.ai", 0.6),
        ("moonshotai/kimi-k2.5", "proxy.example.org", 0.6),
        ("mistral-small-latest", "api.mistral.ai", 0.15),
        ("deepseek/deepseek-r1:free", "openrouter.ai", 0),
        ("something/new:free", "openrouter.ai", 0),
        ("something/new:free", "proxy.example.org", None),
        # The hour of the call decides, so the highest price counts.
        ("deepseek-v4-flash", "api.deepseek.com", 0.3),
        # A vendor's price applies at that vendor only.
        ("meta-llama/llama-3.3-70b-instruct-turbo", "api.together.xyz", 0.88),
        ("meta-llama/llama-3.3-70b-instruct-turbo", "api.together.xyz.example.org", None),
        ("meta-llama/llama-3.3-70b-instruct-turbo", None, None),
        ("llama3.2:3b", "localhost", None),
        ("gpt-oss:20b", "localhost", None),
        ("openai/gpt-oss-20b", "localhost", None),
        # A new version of a family may have any price.
        ("gpt-4o-mini-2099", None, None),
        ("gpt-9", None, None),
        ("something-new", None, None),
        ("", None, None),
        ("a\tb\nc", None, None),
    ],
)
def test_price_is_found_by_a_whole_name_only(
    catalogue: ModelCatalogue, name: str, host: str | None, dollars: float | None
) -> None:
    price = catalogue.get_price(name, host)
    assert (None if price is None else price.usual.input) == dollars


def test_price_steps_begin_with_the_usual_one_and_grow() -> None:
    lines = [line.split("\t") for line in LIST.splitlines() if not line.startswith("#")]
    assert len(lines) > 1_000
    for name, _provider, _context, *steps in lines:
        assert name == name.lower()
        above = [int(step.split(":")[0]) for step in steps]
        assert above[0] == 0
        assert above == sorted(set(above))


def test_price_list_matches_the_installed_genai_prices() -> None:
    date = re.search(r"Generated on (\d{4}-\d\d-\d\d)", LIST)
    assert date is not None, "the head of the list says when it was made"
    made = datetime.fromisoformat(date[1]).replace(tzinfo=UTC)
    assert make_list(made) == LIST, "run `python -m config.update_prices`"


def test_every_provider_with_a_domain_has_prices(catalogue: ModelCatalogue) -> None:
    listed = {line.split("\t")[1].lstrip("*") for line in LIST.splitlines() if not line.startswith("#")}
    assert set(catalogue.providers.values()) == listed


def test_catalogue_without_a_hosted_model_leaves_prices_unread() -> None:
    code = (
        "import sys; from config.models import load_catalogue; load_catalogue().get_window('gpt-4o'); "
        "from config.prices import load_prices; "
        "sys.exit(load_prices.cache_info().currsize or 'genai_prices' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603  # A constant.


@pytest.mark.parametrize(
    ("settings", "uncounted"),
    [
        ({"llm_model": "some-model"}, "model, whose price is not known (some-model)"),
        (
            {"llm_model": "gpt-4o", "llm_fast_model": "one", "llm_models": ("gpt-4o-mini", "two")},
            "models, whose prices are not known (two, one)",
        ),
        ({"llm_model": "gpt-4o", "llm_models": ("gpt-4o-mini",)}, None),
        ({"llm_model": "some-model", "openai_base_url": "https://openrouter.ai/api/v1"}, None),
        (
            {"llm_model": "some-model", "openai_base_url": "https://notopenrouter.ai/api/v1"},
            "model, whose price is not known (some-model)",
        ),
        ({"llm_model": "some-model", "chat_daily_cost": None}, None),
        # Each model is priced at its own endpoint.
        (
            {
                "llm_model": "gpt-4o",
                "llm_endpoints": "groq https://api.groq.com/openai/v1 key; router https://openrouter.ai/api/v1 key",
                "llm_fallback_model": "groq:openai/gpt-oss-120b",
                "llm_fast_model": "router:some-model",
                "llm_models": "groq:another",
            },
            "model, whose price is not known (groq:another)",
        ),
        # The embedded model costs nothing.
        ({"openai_api_key": None}, None),
    ],
)
def test_cost_limit_names_the_models_without_a_price(
    catalogue: ModelCatalogue, settings: dict[str, object], uncounted: str | None
) -> None:
    whole = Settings.model_validate({"openai_api_key": "key", "chat_daily_cost": 0.5} | settings)
    expected = (
        f"CHAT_DAILY_COST does not limit calls of the {uncounted}: set CHAT_DAILY_TOKENS, which limits every model."
    )
    assert describe_uncounted_cost(whole, catalogue) == (None if uncounted is None else expected)


def test_local_model_gets_its_prompt_style_at_any_endpoint(catalogue: ModelCatalogue) -> None:
    assert catalogue.get_local().name == "qwen2.5-coder-1.5b"
    served = catalogue.find_measured_local("local/qwen2.5-coder-1.5b")
    assert served == catalogue.get_local()
    assert all(model.prompt in STYLES for model in catalogue.local_models)
    assert catalogue.find_measured_local("qwen2.5-coder-32b") is None


def test_unknown_local_model_error_lists_the_known_ones(catalogue: ModelCatalogue) -> None:
    with pytest.raises(CatalogueError, match=r"'gpt-9'.*qwen2\.5-coder-1\.5b, qwen2\.5-coder-0\.5b, smollm2-135m"):
        catalogue.get_local("gpt-9")
