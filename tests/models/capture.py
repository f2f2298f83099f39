"""Takes requests to models, keeps their bodies in a directory as NUMBER-PATH.json, and answers each with words of its API.
Prints its address.

capture.py DIRECTORY
"""

import itertools
import json
import pathlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

kept = pathlib.Path(sys.argv[1])
numbers = itertools.count(1)
CALL = {"name": "add", "arguments": '{"a": 2, "b": 40}'}


def anthropic(has_result):
    usage = {"input_tokens": 10, "output_tokens": 1}
    yield {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage}}
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": thought}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}
    yield {"type": "content_block_stop", "index": 0}
    if has_result:
        yield {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "It is 42."}}
    else:
        block = {"type": "tool_use", "id": "toolu_1", "name": CALL["name"], "input": {}}
        yield {"type": "content_block_start", "index": 1, "content_block": block}
        yield {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": CALL["arguments"]}}
    yield {"type": "content_block_stop", "index": 1}
    stop = "end_turn" if has_result else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def chat(has_result):
    def chunk(delta, stop=None):
        return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}

    if has_result:
        yield chunk({"role": "assistant", "content": "It is 42."})
        yield chunk({}, "stop")
    else:
        yield chunk({"role": "assistant", "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": CALL}]})
        yield chunk({}, "tool_calls")
    yield {"id": "c", "model": "m", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}


def responses(has_result):
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "status": "completed", **CALL}
    text = {"type": "output_text", "text": "It is 42.", "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    items = [reasoning, message if has_result else call]
    yield {"type": "response.created", "response": {"id": "r", "model": "m"}}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 5}
    yield {"type": "response.completed", "response": {"id": "r", "model": "m", "status": "completed", "output": items, "usage": usage}}


class Taker(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        name = self.path.strip("/").replace("/", "-")
        (kept / f"{next(numbers):03}-{name}.json").write_bytes(body)
        has_result = any(word in body for word in (b"tool_result", b'"role":"tool"', b"function_call_output"))
        events = {"messages": anthropic, "completions": chat, "responses": responses}[name.rsplit("-", 1)[-1]]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events(has_result):
            self.wfile.write(f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Taker)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
