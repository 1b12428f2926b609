// How fast `offshoot acp` is, measured from outside by a client that reads bytes and parses nothing while the
// clock runs: streamed text as updates, and the replay of a long session. Numbers, not checks: a machine may
// be busy.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { check, expect, expectEqual, finish, folder, startAgent } from "./client.mjs";

const STREAMS = 200;
const PIECES = 50;
const CHILDREN = 50;
const READS = 22;

/** What only a response has; an error is one that the check's timeout reports. */
const RESPONSE = Buffer.from('"result":');

/** A client without an SDK: lines out, bytes in. */
class Wire {
  #chunks = [];
  /** How many responses came, and the bytes in which the mark of the next one may have begun. */
  #responses = 0;
  #tail = Buffer.alloc(0);
  #next = 0;
  #grown = () => {};

  constructor(script) {
    this.process = startAgent(script);
    this.process.stdout.on("data", (bytes) => {
      this.#chunks.push({ bytes, at: performance.now() });
      this.#count(bytes);
      this.#grown();
    });
  }

  #count(bytes) {
    const joined = Buffer.concat([this.#tail, bytes]);
    for (let at = joined.indexOf(RESPONSE); at >= 0; at = joined.indexOf(RESPONSE, at + 1)) this.#responses += 1;
    this.#tail = joined.subarray(Math.max(0, joined.length - RESPONSE.length + 1));
  }

  /** Tells whether what came ends with a line and holds that many responses. */
  #holds(responses) {
    return this.#responses >= responses && this.#chunks.at(-1)?.bytes.at(-1) === 10;
  }

  /** Sends requests at once; returns the first result, what came until all were answered, and when. */
  async calls(calls) {
    const sent = performance.now();
    const ids = calls.map(([method, params]) => {
      this.#next += 1;
      const message = { jsonrpc: "2.0", id: this.#next, method, params };
      this.process.stdin.write(`${JSON.stringify(message)}\n`);
      return this.#next;
    });
    while (!this.#holds(ids.length)) await new Promise((resolve) => (this.#grown = resolve));
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#responses = 0;
    const lines = Buffer.concat(chunks.map((it) => it.bytes)).toString("utf8").split("\n").filter(Boolean);
    const messages = lines.map((line) => JSON.parse(line));
    const answers = messages.filter((it) => ids.includes(it.id));
    const failed = answers.find((it) => it.result === undefined);
    expect(failed === undefined, JSON.stringify(failed?.error));
    const updates = messages.filter((it) => it.method === "session/update");
    return { result: answers[0].result, updates, sent, first: chunks[0].at, last: chunks.at(-1).at };
  }

  call(method, params) {
    return this.calls([[method, params]]);
  }

  async initialize() {
    const clientCapabilities = { subagents: {} };
    await this.call("initialize", { protocolVersion: 1, clientCapabilities });
  }

  async open() {
    const request = { cwd: folder("workspace"), mcpServers: [] };
    const { result } = await this.call("session/new", request);
    return result.sessionId;
  }

  prompt(sessionId, text) {
    return this.call("session/prompt", promptOf(sessionId, text));
  }

  async hangUp() {
    const exited = once(this.process, "exit");
    this.process.stdin.end();
    await exited;
  }
}

function promptOf(sessionId, text) {
  return { sessionId, prompt: [{ type: "text", text }] };
}

/** Writes a script of the scripted model; returns its path. */
function script(name, content) {
  const path = join(folder("scripts"), `${name}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const lead = { name: "lead", mode: "primary", description: "Leads.", prompt: "Lead.", tools: ["task"] };
const worker = { name: "worker", mode: "subagent", description: "Works.", prompt: "Work.", tools: ["read"] };

await check(
  `speed: ${STREAMS * PIECES} deltas, ${PIECES} in each of ${STREAMS} sessions at once`,
  async () => {
    // A model that never waits is faster than any reader: its deltas are dropped, and the text comes whole
    // with the message. One millisecond between pieces is fast, and no piece is dropped.
    const say = Array.from({ length: PIECES }, (_, at) => `word ${at} `);
    const wire = new Wire(script("deltas", { agents: [lead], replies: [{ say, chunk_delay_ms: 1 }] }));
    await wire.initialize();
    const sessions = [];
    for (let at = 0; at < STREAMS; at += 1) sessions.push(await wire.open());
    const calls = sessions.map((sessionId) => ["session/prompt", promptOf(sessionId, "go")]);
    const { updates, first, last } = await wire.calls(calls);
    await wire.hangUp();
    const chunks = updates.filter((it) => it.params.update.sessionUpdate === "agent_message_chunk");
    for (const sessionId of sessions) {
      const own = chunks.filter((it) => it.params.sessionId === sessionId);
      expectEqual(own.map((it) => it.params.update.content.text).join(""), say.join(""), "the text");
    }
    const rate = Math.round((chunks.length * 1000) / (last - first)).toLocaleString("en");
    return `${rate} updates/s, ${chunks.length} in ${(last - first).toFixed(0)} ms`;
  },
  300,
);

await check(
  `speed: session/load of some 10,000 entries with ${CHILDREN} children`,
  async () => {
    const fanOut = { tool: "task", count: CHILDREN, arguments: { subagent_type: "worker", prompt: "part {i}" } };
    const read = { tool: "read", count: READS, arguments: { path: "no-such-file-{i}" } };
    const replies = [
      { agent: "lead", after_tools: false, call: [fanOut] },
      { agent: "lead", say: "done" },
      { agent: "worker", times: 3, call: [read] },
      { agent: "worker", say: "done" },
    ];
    const path = script("tree", { agents: [lead, worker], replies });
    const writing = new Wire(path);
    await writing.initialize();
    const sessionId = await writing.open();
    const written = await writing.prompt(sessionId, "go");
    expectEqual(written.result.stopReason, "end_turn", "stop reason");
    await writing.hangUp();
    const loading = new Wire(path);
    await loading.initialize();
    const request = { sessionId, cwd: folder("workspace"), mcpServers: [] };
    const { updates, sent, last } = await loading.call("session/load", request);
    await loading.hangUp();
    const announced = updates.map((it) => it.params.update).filter((it) => it.sessionUpdate === "subagent_update");
    const children = new Set(announced.map((it) => it.sessionId));
    expectEqual(children.size, CHILDREN, "children");
    const writtenIn = ((written.last - written.sent) / 1000).toFixed(1);
    const rate = Math.round((updates.length * 1000) / (last - sent)).toLocaleString("en");
    return `${(last - sent).toFixed(0)} ms for ${updates.length} updates, ${rate}/s; written in ${writtenIn} s`;
  },
  600,
);

finish();
