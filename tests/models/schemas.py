"""Validates requests that capture.py has kept against what the official SDKs `anthropic` and `openai` say that a request
is. Prints one line a request; whatever the SDKs' types do not know, a key too, fails it.

schemas.py DIRECTORY
"""

import json
import pathlib
import sys

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

KNOWN = {
    "messages": TypeAdapter(MessageCreateParamsStreaming),
    "completions": TypeAdapter(CompletionCreateParamsStreaming),
    "responses": TypeAdapter(ResponseCreateParamsStreaming),
}


def whole(value):
    """What was validated, as plain lists and objects. What is to be gone through is validated only then."""
    if isinstance(value, dict):
        return {key: whole(value) for key, value in value.items()}
    if isinstance(value, (str, bytes, int, float, bool, type(None))):
        return value
    return [whole(value) for value in value]


def differing(sent, known, at=""):
    """Where what was sent has something that the types do not know."""
    if isinstance(sent, dict) and isinstance(known, dict):
        for key in sent:
            if key not in known:
                yield f"{at}/{key} is not known"
            else:
                yield from differing(sent[key], known[key], f"{at}/{key}")
    elif isinstance(sent, list) and isinstance(known, list) and len(sent) == len(known):
        for place, (one, other) in enumerate(zip(sent, known)):
            yield from differing(one, other, f"{at}/{place}")
    elif sent != known:
        yield f"{at} is {known!r} to the SDK"


files = sorted(pathlib.Path(sys.argv[1]).glob("*.json"))
for file in files:
    sent = json.loads(file.read_bytes())
    try:
        known = whole(KNOWN[file.stem.rsplit("-", 1)[-1]].validate_python(sent, strict=False))
        problems = list(differing(sent, known))
    except ValidationError as error:
        problems = [f"/{'/'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()[:5]]
    print(f"{file.stem}: {'valid' if not problems else '; '.join(problems)}")
print(f"{len(files)} requests")
