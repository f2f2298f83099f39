// The model server of `run.sh`: speaks as the APIs do that coding CLIs call (Anthropic's Messages, OpenAI's Responses and
// Chat Completions, Gemini), always as a stream. What is said is in `moves.mjs`; here is how. Prints its address, and
// writes a line of JSON for each call of a model into the file that is named: what it was asked and what it answered.
import { createServer } from "node:http";
import { appendFileSync } from "node:fs";
import { move } from "./moves.mjs";

const log = process.argv[2];
appendFileSync(log, "");
let made = 0;
const id = (kind) => `${kind}_${String(++made).padStart(8, "0")}`;
// When the limits end.
const reset = Math.floor(Date.now() / 1000) + 3600;

// A conversation as `moves.mjs` knows it, whatever the API: `prompt` (the last thing said to the model), `calls` (the names of
// the tools that it has called since), `before` (those that it had called earlier), `tools` (those it may call, by the
// last part of their names).
class Asked {
    constructor(model) {
        Object.assign(this, { model, prompt: "", calls: [], before: [], tools: new Map() });
    }
    said(content) {
        const texts = typeof content === "string" ? [content] : content.map((part) => part.text ?? "");
        // What a program adds to a conversation by itself is no prompt.
        const said = texts.filter((text) => text && !/^\s*<(environment_context|session_context|system-reminder)/.test(text));
        if (!said.length) return;
        this.before.push(...this.calls);
        this.calls = [];
        this.prompt = said.join("\n");
    }
    called(name) {
        this.calls.push(short(name));
    }
    may(name, namespace) {
        this.tools.set(short(name), { name, namespace });
    }
}

// `mcp__crew__post`, `mcp_crew_post` and `crew_post` are all `post` of the crew's.
const short = (name) => name.replace(/^(mcp_+)?crew_+/, "");

const anthropic = {
    path: /\/messages$/,
    read(body) {
        const asked = new Asked(body.model);
        for (const { role, content } of body.messages) {
            const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
            if (role === "user") asked.said(blocks);
            for (const block of blocks) if (block.type === "tool_use") asked.called(block.name);
        }
        for (const tool of body.tools ?? []) asked.may(tool.name);
        return asked;
    },
    *answer(body, { text, calls, used = 100 }) {
        const usage = { input_tokens: used, output_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 0 };
        const message = { id: id("msg"), type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, stop_sequence: null, usage };
        yield { type: "message_start", message };
        const blocks = [
            ...(text ? [[{ type: "text", text: "" }, { type: "text_delta", text }]] : []),
            ...calls.map(({ name, input }) => [
                { type: "tool_use", id: id("toolu"), name, input: {} },
                { type: "input_json_delta", partial_json: JSON.stringify(input) },
            ]),
        ];
        for (const [index, [content_block, delta]] of blocks.entries()) {
            yield { type: "content_block_start", index, content_block };
            yield { type: "content_block_delta", index, delta };
            yield { type: "content_block_stop", index };
        }
        yield { type: "message_delta", delta: { stop_reason: calls.length ? "tool_use" : "end_turn", stop_sequence: null }, usage };
        yield { type: "message_stop" };
    },
    refuses: (status, type, message) => ({ status, body: { type: "error", error: { type, message }, request_id: id("req") } }),
    limited() {
        const window = (name) => ({ [`${name}-status`]: "rejected", [`${name}-reset`]: reset, [`${name}-utilization`]: "1.0" });
        const headers = { status: "rejected", reset: reset, "representative-claim": "five_hour", ...window("5h") };
        return {
            ...this.refuses(429, "rate_limit_error", "This request would exceed your account's rate limit."),
            headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [`anthropic-ratelimit-unified-${name}`, value])),
        };
    },
};

const responses = {
    path: /\/responses$/,
    read(body) {
        const asked = new Asked(body.model);
        for (const item of body.input) {
            if (item.type === "message" && item.role === "user") asked.said(item.content);
            if (item.type === "function_call") asked.called(item.name);
        }
        for (const tool of body.tools ?? []) {
            if (tool.type === "namespace") for (const own of tool.tools) asked.may(own.name, tool.name);
            else asked.may(tool.name ?? tool.type);
        }
        return asked;
    },
    *answer(body, { text, calls }) {
        const response = { id: id("resp") };
        yield { type: "response.created", response };
        const output = [
            ...(text ? [{ type: "message", role: "assistant", id: id("msg"), content: [{ type: "output_text", text }] }] : []),
            ...calls.map(({ name, namespace, input }) => ({
                type: "function_call", id: id("fc"), call_id: id("call"), name, ...(namespace && { namespace }), arguments: JSON.stringify(input),
            })),
        ];
        for (const [output_index, item] of output.entries()) yield { type: "response.output_item.done", output_index, item };
        const usage = {
            input_tokens: 100, input_tokens_details: { cached_tokens: 20 }, output_tokens: 10,
            output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 110,
        };
        yield { type: "response.completed", response: { ...response, output, usage } };
    },
    refuses: (status, code, message) => ({ status, body: { error: { type: "invalid_request_error", code, message } } }),
    limited() {
        const error = { type: "usage_limit_reached", message: "The usage limit has been reached", plan_type: "plus", resets_at: reset };
        const headers = { "x-codex-primary-used-percent": "100", "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-at": reset };
        return { status: 429, headers, body: { error } };
    },
};

const chat = {
    path: /\/chat\/completions$/,
    read(body) {
        const asked = new Asked(body.model);
        for (const message of body.messages) {
            if (message.role === "user") asked.said(message.content);
            for (const call of message.tool_calls ?? []) asked.called(call.function.name);
        }
        for (const tool of body.tools ?? []) asked.may(tool.function.name);
        return asked;
    },
    *answer(body, { text, calls }) {
        const chunk = { id: id("chatcmpl"), object: "chat.completion.chunk", created: 0, model: body.model };
        const choice = (delta, finish_reason = null) => ({ ...chunk, choices: [{ index: 0, delta, finish_reason }] });
        yield choice({ role: "assistant", content: text ?? "" });
        const tool_calls = calls.map(({ name, input }, index) => ({
            index, id: id("call"), type: "function", function: { name, arguments: JSON.stringify(input) },
        }));
        if (calls.length) yield choice({ tool_calls });
        yield choice({}, calls.length ? "tool_calls" : "stop");
        yield { ...chunk, choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } };
    },
    refuses: (status, code, message) => ({ status, body: { error: { type: "invalid_request_error", code, message } } }),
    limited() {
        return { ...this.refuses(429, "rate_limit_exceeded", "You have reached your limit"), headers: { "retry-after": 1 } };
    },
};

const gemini = {
    path: /:streamGenerateContent$/,
    read(body, path) {
        const asked = new Asked(path.match(/models\/([^:]+):/)[1]);
        for (const { role, parts } of body.contents) {
            if (role === "user" && !parts.some((part) => part.functionResponse)) asked.said(parts);
            for (const part of parts) if (part.functionCall) asked.called(part.functionCall.name);
        }
        for (const tool of (body.tools ?? []).flatMap((all) => all.functionDeclarations ?? [])) asked.may(tool.name);
        return asked;
    },
    *answer(body, { text, calls }) {
        const parts = [...(text ? [{ text }] : []), ...calls.map(({ name, input }) => ({ functionCall: { name, args: input } }))];
        const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };
        yield { candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }], usageMetadata };
    },
    refuses: (code, status, message) => ({ status: code, body: { error: { code, status, message } } }),
    limited() {
        const refused = this.refuses(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.");
        const quotaId = "GenerateRequestsPerDayPerProjectPerModel";
        refused.body.error.details = [{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId }] }];
        return refused;
    },
};

async function answer(request, response, api, path, body) {
    const asked = api.read(body, path);
    const says = asked.tools.size ? move(asked) : { text: "a title" };
    if (says.limit) says.until = reset;
    const { model, prompt, calls, before } = asked;
    // Whether it was told with this who it is.
    const told = prompt.includes("<identity>");
    appendFileSync(log, `${JSON.stringify({ model, before, calls, told, says })}\n`);
    if (says.status || says.limit) {
        const { status, headers, body: refusal } = says.limit ? api.limited() : api.refuses(says.status, says.type, says.message);
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(refusal));
        return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    // A call of a tool that is not there is not made.
    const wanted = (says.calls ?? []).filter(({ tool }) => asked.tools.has(tool));
    const text = wanted.length < (says.calls ?? []).length ? "The tool that I want is not there." : says.text;
    const made_calls = wanted.map(({ tool, input }) => ({ ...asked.tools.get(tool), input }));
    for (const event of api.answer(body, { text, calls: made_calls, used: says.used })) {
        response.write(`${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`);
        // It never comes further than its first word.
        if (says.hangs) return;
    }
    if (api === chat) response.write("data: [DONE]\n\n");
    response.end();
}

const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = request.url.split("?")[0];
    const api = [anthropic, responses, chat, gemini].find(({ path: own }) => own.test(path));
    if (request.method === "POST" && api) return answer(request, response, api, path, JSON.parse(Buffer.concat(chunks)));
    response.writeHead(404, { "content-type": "application/json" });
    response.end("{}");
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
