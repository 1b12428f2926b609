// What the checks in JavaScript share: `offshoot acp` as a process, a client of the npm SDK's `unstable`
// entry that notes everything it receives, and one printed line per check.
//
// `cargo xtask peers` sets the environment: PEERS_OFFSHOOT is the program, PEERS_MODULES the folder with
// node_modules, PEERS_WORK an empty folder of this run.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";

const { PEERS_OFFSHOOT, PEERS_MODULES, PEERS_WORK } = process.env;

/** Installed packages are not beside these files, so they are found from the folder that has them. */
export const installed = createRequire(join(PEERS_MODULES, "package.json"));
const sdk = await import(pathToFileURL(installed.resolve("@agentclientprotocol/sdk/unstable")).href);

export const here = dirname(fileURLToPath(import.meta.url));

/** Returns a folder of this run, made if it is not there. */
export function folder(name) {
  const path = join(PEERS_WORK, name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** An environment in which neither our settings nor the clients' are those of the user. */
export function scratchEnvironment() {
  const home = folder("home");
  const env = { ...process.env, HOME: home };
  for (const name of Object.keys(env)) {
    if (name.startsWith("XDG_") || name.startsWith("OFFSHOOT_")) delete env[name];
  }
  return env;
}

/** Returns the command line of the agent; `script` is the file with its replies. */
export function agentCommand(script = join(here, "script.yaml"), agent = "lead") {
  const args = ["acp", "--data-dir", folder("data"), "--model", `scripted/${script}`, "--agent", agent];
  return [PEERS_OFFSHOOT, ...args];
}

let failures = 0;

/** Runs one check and prints one line. */
export async function check(name, body, seconds = 60) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${seconds} s`)), seconds * 1000);
  });
  try {
    const note = await Promise.race([body(), late]);
    console.log(`ok      ${name}${typeof note === "string" ? `: ${note}` : ""}`);
  } catch (error) {
    failures += 1;
    const said = error?.code === undefined ? error?.message : `${error.message} (${error.code})`;
    console.log(`failed  ${name}: ${String(said ?? error).split("\n").join("\n        ")}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends the program: non-zero if a check failed. */
export function finish() {
  process.exit(failures === 0 ? 0 : 1);
}

/** Starts the agent as a process. What it prints on stderr is shown. */
export function startAgent(script) {
  const [program, ...args] = agentCommand(script);
  const env = scratchEnvironment();
  return spawn(program, args, { env, stdio: ["pipe", "pipe", "inherit"] });
}

/** What the SDK prints when a message does not fit its schema. */
const complaints = [];
console.error = (...words) => {
  complaints.push(words.map((it) => (typeof it === "string" ? it : JSON.stringify(it))).join(" "));
};

/** A client: the agent's process, every update in order, and what the agent asked. */
export class Client {
  /** Updates as `{sessionId, update}`: as they came, and as the SDK's schema read them. */
  raw = [];
  read = [];
  /** How many updates came before the latest response. */
  answeredAt = 0;
  /** Permission requests, as the SDK read them. */
  asked = [];
  /** Chooses an option of a permission request; replaced by checks that do not allow. */
  decide = (request) => request.options.find((option) => option.kind === "allow_once").optionId;
  #watchers = new Set();

  /** Connects, initializes with these capabilities, runs `body` and hangs up. */
  static async run(clientCapabilities, body, script) {
    complaints.length = 0;
    const process = startAgent(script);
    const exited = once(process, "exit");
    const client = new Client();
    const lines = sdk.ndJsonStream(Writable.toWeb(process.stdin), Readable.toWeb(process.stdout));
    const noted = new TransformStream({
      transform(message, controller) {
        if (message.method === "session/update") client.raw.push(message.params);
        if (message.result !== undefined) client.answeredAt = client.raw.length;
        controller.enqueue(message);
      },
    });
    const stream = { writable: lines.writable, readable: lines.readable.pipeThrough(noted) };
    const app = sdk
      .client({ name: "offshoot-peers" })
      .onNotification(sdk.methods.client.session.update, ({ params }) => client.#updated(params))
      .onRequest(sdk.methods.client.session.requestPermission, ({ params }) => {
        client.asked.push(params);
        client.#wake();
        return { outcome: { outcome: "selected", optionId: client.decide(params) } };
      });
    try {
      return await app.connectWith(stream, async (context) => {
        client.context = context;
        client.about = await context.request(sdk.methods.agent.initialize, {
          protocolVersion: sdk.PROTOCOL_VERSION,
          clientCapabilities,
        });
        return body(client);
      });
    } finally {
      process.stdin.end();
      const timer = setTimeout(() => process.kill("SIGKILL"), 10_000);
      const [code, signal] = await exited;
      clearTimeout(timer);
      expect(code === 0, `the agent ended with ${code ?? signal} when its client hung up`);
    }
  }

  request(method, params) {
    return this.context.request(method, params);
  }

  notify(method, params) {
    return this.context.notify(method, params);
  }

  async open(cwd) {
    return this.request("session/new", { cwd, mcpServers: [] });
  }

  prompt(sessionId, text, more = {}) {
    return this.request("session/prompt", { sessionId, prompt: [{ type: "text", text }], ...more });
  }

  /** Waits for an update that was or will be received. */
  async until(found) {
    for (;;) {
      const it = found(this);
      if (it) return it;
      await new Promise((resolve) => this.#watchers.add(resolve));
    }
  }

  /** Returns the words of the agent on a session, joined. */
  words(sessionId, updates = this.read) {
    const said = updates.filter(
      (it) => it.sessionId === sessionId && it.update.sessionUpdate === "agent_message_chunk",
    );
    return said.map((it) => it.update.content.text).join("");
  }

  /** Returns the children in the order of their announcement: id, parent, title, states. */
  children(updates = this.read) {
    const children = new Map();
    for (const { sessionId, update } of updates) {
      if (update.sessionUpdate !== "subagent_update") continue;
      const child = children.get(update.sessionId) ?? { id: update.sessionId, parent: sessionId, states: [] };
      child.title = update.title ?? child.title;
      child.capabilities = update.capabilities ?? child.capabilities;
      if (update.state) child.states.push(update.state);
      expect(child.parent === sessionId, `${child.id} changed its parent`);
      children.set(child.id, child);
    }
    return [...children.values()];
  }

  #updated(params) {
    this.read.push(params);
    this.#wake();
  }

  #wake() {
    for (const resolve of this.#watchers) resolve();
    this.#watchers.clear();
  }
}

export function expect(condition, otherwise) {
  if (!condition) throw new Error(otherwise);
}

export function expectEqual(actual, expected, what) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a}, expected ${b}`);
}

/**
 * Every update that came was read by the SDK's schema, and nothing was lost in reading: the schema mends
 * malformed optional values in silence, so a key that is gone is a value that did not fit.
 */
export function expectAllValid(client) {
  expect(complaints.length === 0, complaints.join("; "));
  expectEqual(client.read.length, client.raw.length, "updates that fit the schema");
  client.raw.forEach((params, at) => {
    const lost = difference(params, client.read[at], "params");
    expect(lost === undefined, `update ${at} does not fit the schema at ${lost}: ${JSON.stringify(params)}`);
  });
}

function difference(sent, read, path) {
  if (sent === null || typeof sent !== "object") return Object.is(sent, read) ? undefined : path;
  if (read === null || typeof read !== "object") return path;
  for (const key of Object.keys(sent)) {
    const inside = difference(sent[key], read[key], `${path}.${key}`);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

/** Rule 1: nothing bears or names a child before its parent has announced it. */
export function expectAnnouncedFirst(client) {
  const unannounced = new Set(client.children().map((child) => child.id));
  for (const { sessionId, update } of client.raw) {
    if (update.sessionUpdate === "subagent_update") unannounced.delete(update.sessionId);
    const text = `${sessionId} ${JSON.stringify(update)}`;
    for (const [word] of text.matchAll(/[\w-]{8,}/g)) {
      expect(!unannounced.has(word), `${word} is named before it is announced: ${text}`);
    }
  }
}
