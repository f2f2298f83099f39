// What the models of `server.mjs` say: each is named for how it behaves. A move is made by what was said and done so far, so
// that a turn which is begun anew, or a conversation that goes on, is answered as it should be.

// A call of the tool that a CLI has for it, among the ways in which they do it.
function own(asked, ways) {
    const tool = Object.keys(ways).find((tool) => asked.tools.has(tool));
    return { calls: [{ tool, input: ways[tool] }] };
}
const writes = (asked, name, content) =>
    own(asked, {
        Write: { file_path: name, content },
        exec_command: { cmd: `printf '%s' '${content}' > ${name}` },
        write_file: { file_path: name, content },
        write: { filePath: name, content },
    });
const reads = (asked, name) =>
    own(asked, {
        Read: { file_path: name },
        exec_command: { cmd: `cat ${name}` },
        read_file: { file_path: name },
        read: { filePath: name },
    });

const looks = { calls: [{ tool: "read_thread", input: {} }] };
const posts = (text) => ({ calls: [{ tool: "post", input: { kind: "work_done", text } }] });
const file = (asked) => [...asked.prompt.matchAll(/Write (\S+?\.txt)/g)].at(-1)?.[1] ?? "unasked.txt";

// Looks, writes the file that the task names, posts, and says that it has.
function works(asked) {
    const name = file(asked);
    const all = [looks, writes(asked, name, `content of ${name}`), posts(`${name} is written`)];
    return all[asked.calls.length] ?? { text: "My move is made." };
}

// The same; and when it has posted in an earlier turn, says that the goal is reached.
function ends(asked) {
    if (!asked.before.includes("post")) return works(asked);
    return asked.calls.length ? { text: "My move is made." } : { calls: [{ tool: "post", input: { kind: "done", text: "all is written" } }] };
}

// The same, but its conversation is full when it has looked for the first time. A summary is what it is to do.
const full = [];
function fills(asked) {
    if (asked.prompt.includes("Respond with TEXT ONLY")) return { text: `<summary>Write ${full[0]}.</summary>` };
    if (full.length) return works(asked);
    full.push(file(asked));
    return { ...works(asked), used: 990_000 };
}

const limit = "You’ve hit your usage limit. You've hit your 5-hour limit · resets 5:30am (UTC). rate_limit_event: rejected";

const hung = new Set();

const models = {
    works,
    ends,
    fills,
    limited: () => ({ limit: true }),
    refused: () => ({ status: 401, type: "authentication_error", message: "the key is wrong" }),
    // Says nothing more when it is first asked for a file; afterwards it works.
    hangs(asked) {
        const name = file(asked);
        if (hung.has(name)) return works(asked);
        hung.add(name);
        return { text: "I begin.", hangs: name };
    },
    // Writes, and gives up if it may not.
    denied: (asked) => (asked.calls.length ? { text: "I may not." } : writes(asked, file(asked), "x")),
    // Reads a file that speaks of limits, and speaks of them itself.
    quotes(asked) {
        const name = file(asked);
        const all = [reads(asked, "limits.txt"), { ...writes(asked, name, limit.replaceAll("'", "")), text: limit }, posts(limit)];
        return all[asked.calls.length] ?? { text: limit };
    },
};

export const names = Object.keys(models);

export function move(asked) {
    const model = models[asked.model];
    return model ? model(asked) : { status: 404, type: "not_found_error", message: `no model ${asked.model}` };
}
