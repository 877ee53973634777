"""The feature skills, and its check."""

from __future__ import annotations

from typing import ClassVar

from bot.doctor.finding import DoctorContext, Finding, create_ok, create_warning
from bot.feature import Contributions, Feature
from bot.features.skills.commands import SkillCommands, skill_buttons
from bot.features.skills.folder import Skill, Skills, build_skill_prompt
from bot.features.skills.parts import SkillReader, SkillsPart, skill_tool
from bot.kernel import Kernel
from memory.text.tokens import TokenCounter
from pipeline.prompt.part import PartOrder

CORRECT_SKILL = "Fix its SKILL.md (see docs/tasks.md), or move the folder away."
FEWER_SKILLS = "Remove a skill with `mneme skills remove NAME`, or shorten the names."


async def check_skills(context: DoctorContext) -> list[Finding]:
    """Check the skills, and whether the prompt has room for all of them."""
    found = Skills(context.settings.mneme_data_dir).scan()
    usable = [skill for skill in found.values() if isinstance(skill, Skill)]
    findings = [
        create_warning("skills", f"The folder {name} isn't a skill: {reason}", CORRECT_SKILL)
        for name, reason in found.items()
        if not isinstance(reason, Skill)
    ]
    _text, left_out = build_skill_prompt(usable, TokenCounter().count)
    if left_out:
        findings.append(create_warning("skills", f"The prompt has no room for {', '.join(left_out)}", FEWER_SKILLS))
    return findings or [create_ok("skills", ", ".join(skill.name for skill in usable) or "There are no skills")]


class SkillsFeature(Feature):
    name = "skills"
    checks: ClassVar = {"skills": check_skills}

    async def open(self, kernel: Kernel) -> Contributions:
        skills = Skills(kernel.settings.mneme_data_dir)
        return Contributions(
            commands=[SkillCommands(kernel.memory, kernel.media, skills)],
            tools=[skill_tool(skills)],
            prompt=[(PartOrder.QUOTED - 10, SkillsPart(skills))],
            files=[SkillReader()],
            entry_buttons=[skill_buttons],
        )
