"""Error of the token estimate, before and after it has learned from a model's usage reports.

Asks the embedded model (download it first: `mneme model pull`) for one token at a time, and reads the prompt's size
from the response. Half of the texts are used for learning, the other half for measuring.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from pathlib import Path

from bot.cli.start import load_settings_with_logging
from bot.features.local_model.embedded import EmbeddedServer
from bot.features.local_model.model_files import get_weights_path, set_real_size
from config.models import load_catalogue
from memory.clock import system_clock
from memory.messages import Message, Role
from memory.text.tokens import TokenCounter
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import ModelRequest
from pipeline.models.openai_model import OpenAIModel

ROUNDS = 3
"""Number of times that the texts are used for learning, since a conversation reports usage at every turn."""

TEXTS = {
    "English": (
        "The bees came back late this year, and the first honey was thin but sweet. We sold half of it at the market.",
        "Could you remind me which of the two recipes we liked more, the one with plums or the one with cherries?",
        "My sister plays the violin in a small orchestra; they rehearse on Tuesdays in the old school by the river.",
        "Please plan the trip so that we arrive before dark, stay two nights, and are back home by Sunday noon.",
    ),
    "Russian": (
        "Пчёлы в этом году вернулись поздно, и первый мёд был жидким, но сладким. Половину мы продали на рынке.",
        "Напомни, какой из двух рецептов нам понравился больше: тот, что со сливами, или тот, что с вишней?",
        "Моя сестра играет на скрипке в маленьком оркестре; они репетируют по вторникам в старой школе у реки.",
        "Спланируй поездку так, чтобы мы приехали засветло, остались на две ночи и вернулись в воскресенье к обеду.",
    ),
    "Chinese": (
        "今年蜜蜂回来得很晚，第一批蜂蜜虽然稀，但是很甜。我们在市场上卖掉了一半。",
        "请提醒我，那两个食谱里我们更喜欢哪一个：放李子的，还是放樱桃的？",
        "我姐姐在一个小乐团里拉小提琴，他们每个星期二在河边的老学校排练。",
        "请把行程安排好，让我们天黑以前到达，住两个晚上，星期天中午以前回到家。",
    ),
    "Python": (
        "def total(items: list[Item]) -> Decimal:\n    return sum((i.price * i.count for i in items), Decimal(0))\n",
        "async with asyncio.timeout(30):\n    reply = await client.post(url, json=body)\n    reply.raise_for_status()",
        "for path in sorted(root.rglob('*.py')):\n    if path.stat().st_size > LIMIT:\n        print(path.name)",
        "class Queue:\n    def __init__(self) -> None:\n        self._items: deque[str] = deque(maxlen=100)\n",
    ),
}


async def main() -> None:
    """Print the mean relative error for each language, before and after calibration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a local model's name")
    parser.add_argument("--models-dir", type=Path, help="where the weights are")
    arguments = parser.parse_args()
    local = load_catalogue().get_local(arguments.model)
    folder = arguments.models_dir or load_settings_with_logging(quiet=True).models_dir
    server = EmbeddedServer(set_real_size(local, folder), get_weights_path(local, folder))

    async def connect() -> Endpoint:
        return Endpoint(await server.start(), server.api_key)

    model = OpenAIModel(local.name, local.window, connect, timeout=300)
    try:
        await _report(model)
    finally:
        await model.close()
        await server.stop()


async def _report(model: OpenAIModel) -> None:
    sizes = {text: await _ask_prompt_tokens(model, text) for texts in TEXTS.values() for text in texts}
    taught = TokenCounter()
    for _ in range(ROUNDS):
        for texts in TEXTS.values():
            for text in texts[::2]:
                taught.observe(model.name, [text], sizes[text])
    print(f"{model.name}: mean error of the estimate, untaught and taught by other texts")
    for language, texts in TEXTS.items():
        before = statistics.mean(_compute_error(TokenCounter(), model.name, text, sizes[text]) for text in texts[1::2])
        after = statistics.mean(_compute_error(taught, model.name, text, sizes[text]) for text in texts[1::2])
        print(f"{language:>8}: {before:4.0%} -> {after:4.0%}")


async def _ask_prompt_tokens(model: OpenAIModel, text: str) -> int:
    message = Message(Role.USER, text, system_clock())
    answer = await model.complete(ModelRequest([message], max_output_tokens=1))
    return answer.usage.prompt_tokens if answer.usage else 0


def _compute_error(counter: TokenCounter, model: str, text: str, size: int) -> float:
    message = Message(Role.USER, text, system_clock())
    return abs(counter.count_messages([message], model) - size) / size


if __name__ == "__main__":
    asyncio.run(main())
