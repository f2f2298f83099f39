// Prints the settings of an opencode whose models are those of `moves.mjs`, served at an address.
import { names } from "./moves.mjs";

const models = Object.fromEntries(names.map((name) => [name, { name }]));
const options = { baseURL: process.argv[2], apiKey: "{env:KEY_OF_FAKE}" };
console.log(JSON.stringify({ provider: { fake: { npm: "@ai-sdk/openai-compatible", name: "fake", options, models } } }));
