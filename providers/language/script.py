"""What provider `local` does with tools: it understands no language, but follows the lines of the first user message
that name a step, one after the other, and reports the results. So tools can be seen at work without a key.

    write notes.txt: Milk
      and bread
    run: wc -w notes.txt
    read notes.txt
    list files

A line can begin with `-` or a number; the indented lines after `write` are part of its text. All others are ignored."""

import json
import re
from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple

from providers.language.protocol import Completion, Message, Tool, ToolCall, Usage
from providers.language.sentences import count_tokens

MODEL = "script"
_SHOWN = 2000  # characters of a result in the report
_BULLET = r"^(?:[-*]\s+|\d+[.)]\s+)?"
_WRITE = re.compile(_BULLET + r"write\s+(\S+):\s?(.*)$", re.IGNORECASE)
_READ = re.compile(_BULLET + r"read\s+(\S+)$", re.IGNORECASE)
_RUN = re.compile(_BULLET + r"run:\s*(.+)$", re.IGNORECASE)
_LIST = re.compile(_BULLET + r"list(?:\s+files)?$", re.IGNORECASE)


class Step(NamedTuple):
    text: str
    tool: str
    arguments: dict[str, str]


def follow_script(messages: Sequence[Message], tools: Sequence[Tool]) -> Completion:
    """Returns the next step as a call, or the report after the last one. The number of results says what is next."""
    known = {tool.name for tool in tools}
    script = next((message.content for message in messages if message.role == "user"), "")
    steps = [step for step in parse_steps(script) if step.tool in known]
    results = [message.content for message in messages if message.role == "tool"]
    usage = Usage(tokens_in=sum(count_tokens(message.content) for message in messages), cost=0.0)
    if len(results) < len(steps):
        step = steps[len(results)]
        arguments = json.dumps(step.arguments, ensure_ascii=False)
        usage.tokens_out = count_tokens(arguments)
        return Completion(
            _say(""), usage, MODEL, [ToolCall(id=f"{len(results):09d}", name=step.tool, arguments=arguments)]
        )
    report = _report(steps, results)
    usage.tokens_out = count_tokens(report)
    return Completion(_say(report), usage, MODEL)


def parse_steps(script: str) -> list[Step]:
    steps: list[Step] = []
    writing = False
    for line in script.splitlines():
        text = line.strip()
        if writing and line[:1].isspace() and text:
            content = steps[-1].arguments["content"]
            steps[-1].arguments["content"] = f"{content}{text}\n"
            continue
        step = _parse_step(text)
        writing = step is not None and step.tool == "write_file"
        if step is not None:
            steps.append(step)
    return steps


def _parse_step(line: str) -> Step | None:
    if found := _WRITE.match(line):
        content = f"{found.group(2)}\n" if found.group(2) else ""
        return Step(f"write {found.group(1)}", "write_file", {"path": found.group(1), "content": content})
    if found := _READ.match(line):
        return Step(f"read {found.group(1)}", "read_file", {"path": found.group(1)})
    if found := _RUN.match(line):
        return Step(f"run: {found.group(1)}", "run_command", {"command": found.group(1)})
    return Step("list files", "list_files", {}) if _LIST.match(line) else None


def _report(steps: Sequence[Step], results: Sequence[str]) -> str:
    if not steps:
        return (
            "Nothing was done: without a language model only lines such as `write notes.txt: text`, `read notes.txt`, "
            "`run: ls -l` and `list files` are followed, and there was none."
        )
    lines = [f"{len(steps)} steps done."]
    for step, result in zip(steps, results, strict=False):
        shown = result if len(result) <= _SHOWN else f"{result[:_SHOWN]}…"
        lines.append(f"> {step.text}\n{shown.rstrip()}")
    return "\n".join(lines)


async def _say(text: str) -> AsyncGenerator[str, None]:
    """Yields a text in lines."""
    for line in text.splitlines(keepends=True):
        yield line
