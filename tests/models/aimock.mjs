// The server of `aimock.sh`: plays three providers, each in its own words, by what it is asked for. Prints its address.
// GET /__aimock/journal tells what it was asked.
const { LLMock } = await import(process.argv[2]);
const mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent", auth: { apiKeys: [process.argv[4]] } });

mock.onMessage(/say hello/, { content: "Hello from the other side of the wire, in pieces." }, { chunkSize: 5 });
mock.on({ userMessage: /add two numbers/, hasToolResult: false }, { toolCalls: [{ name: "add", arguments: { a: 2, b: 40 } }] });
mock.on({ userMessage: /add two numbers/, hasToolResult: true }, { content: "It is 42." });
mock.on({ userMessage: /add twice/, hasToolResult: false },
    { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }, { name: "add", arguments: { a: 3, b: 4 } }] });
mock.on({ userMessage: /add twice/, hasToolResult: true }, { content: "3 and 7." });
mock.on({ userMessage: /wrong arguments/, hasToolResult: false }, { toolCalls: [{ name: "add", arguments: "{\"a\": 2, " }] });
mock.on({ userMessage: /wrong arguments/, hasToolResult: true }, { content: "I see." });

const error = (status, type, rest = {}) => ({ error: { message: `this is ${type}`, type, code: type }, status, ...rest });
mock.onMessage(/a limit for hours/, error(429, "rate_limit_error", { retryAfter: 7200 }));
mock.onMessage(/overloaded for ever/, error(529, "overloaded_error"));
mock.onMessage(/broken for ever/, error(500, "api_error"));
mock.onMessage(/a wrong key/, error(401, "authentication_error"));
// What comes first and what then is counted for each API by itself.
for (const api of ["anthropic", "openai-chat", "openai-responses"]) {
    const [overloaded, limited] = [`overloaded at first, by ${api}`, `limited at first, by ${api}`];
    mock.on({ userMessage: overloaded, sequenceIndex: 0 }, error(529, "overloaded_error"));
    mock.on({ userMessage: overloaded, sequenceIndex: 1 }, error(503, "overloaded_error"));
    mock.on({ userMessage: overloaded }, { content: "Here I am." });
    mock.on({ userMessage: limited, sequenceIndex: 0 }, error(429, "rate_limit_error", { retryAfter: 1 }));
    mock.on({ userMessage: limited }, { content: "Here I am." });
}

mock.onMessage(/chaos: cut/, { content: "This will never be heard to its end, however often it is begun." }, { chunkSize: 5, truncateAfterChunks: 2 });
mock.onMessage(/chaos: gone/, { content: "no" }, { chaos: { disconnectRate: 1 } });
mock.onMessage(/chaos: dropped/, { content: "no" }, { chaos: { dropRate: 1 } });
mock.onMessage(/chaos: malformed/, { content: "no" }, { chaos: { malformedRate: 1 } });
mock.onMessage(/chaos: limited/, { content: "no" }, { chaos: { rateLimitRate: 1 } });

// The example team: each says what was recorded of it, by how often it has spoken.
const { readdirSync, readFileSync } = await import("node:fs");
for (const file of readdirSync(process.argv[3])) {
    const is = (request) => JSON.stringify(request.messages).includes(`You are '${file.replace(".jsonl", "")}'`);
    const calls = readFileSync(`${process.argv[3]}/${file}`, "utf8").trim().split("\n").map((line) => JSON.parse(line)).filter((line) => line.answered);
    calls.forEach(({ answered: { blocks } }, turnIndex) => {
        const of = (type) => blocks.filter((block) => block.type === type);
        const content = of("text").map((block) => block.text).join("\n");
        const toolCalls = of("toolCall").map((block) => ({ name: block.name, arguments: block.input }));
        mock.on({ predicate: is, turnIndex }, { ...(content && { content }), toolCalls });
    });
}

// A teammate with a task, whoever its provider is: it reads, writes, and posts. Each call takes the same.
const usage = { input_tokens: 100, output_tokens: 10, prompt_tokens: 100, completion_tokens: 10 };
const moves = [
    { content: "I look.", toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
    { toolCalls: [{ name: "write_file", arguments: { path: "b.txt", content: "content of b\n" } }] },
    { toolCalls: [{ name: "post", arguments: { kind: "work_done", text: "b is written" } }] },
];
moves.forEach((move, turnIndex) => mock.on({ systemMessage: "You are a teammate", turnIndex }, { ...move, usage }));
mock.on({ systemMessage: "You are a teammate" }, { toolCalls: [{ name: "idle", arguments: {} }], usage });

await mock.start();
console.log(mock.url);
