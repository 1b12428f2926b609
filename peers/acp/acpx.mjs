// acpx, a headless client of another project, against `offshoot acp`. It knows no child sessions, so this
// is the flat form: a child is the tool call that made it, and its permission is asked on the root.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { agentCommand, check, expect, expectEqual, finish, folder, installed, scratchEnvironment } from "./client.mjs";

const workspace = folder("workspace");
const program = join(dirname(installed.resolve("acpx/package.json")), "dist", "cli.js");
const agent = agentCommand().map((word) => `"${word}"`).join(" ");

/** A run of acpx: its output as it grows, and its end. */
function start(...words) {
  const common = ["--agent", agent, "--cwd", workspace, "--approve-all", "--ttl", "5"];
  const options = { env: scratchEnvironment(), cwd: workspace, stdio: ["ignore", "pipe", "pipe"] };
  const child = spawn(process.execPath, [program, ...common, ...words], options);
  const run = { child, output: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text) => (run.output += text));
  }
  run.ended = once(child, "close").then(([code]) => code);
  return run;
}

/** Runs acpx to its end; returns what it printed. */
async function acpx(...words) {
  const run = start(...words);
  const code = await run.ended;
  expect(code === 0, `acpx ${words.join(" ")} ended with ${code}: ${run.output}`);
  return run.output;
}

await check("acpx: exec runs a prompt that delegates", async () => {
  const output = await acpx("exec", "the whole tree, please");
  for (const words of ["worker: blocking part", "manager: nested part", "All parts are done.", "The background worker is done."]) {
    expect(output.includes(words), `"${words}" is not in ${output}`);
  }
  expect(/\bend_turn\b/.test(output), output);
});

await check("acpx: exec --format json shows children on the root's session only", async () => {
  const output = await acpx("--format", "json", "--json-strict", "exec", "the whole tree, please");
  const messages = output.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const updates = messages.filter((it) => it.method === "session/update").map((it) => it.params);
  expect(updates.length > 0, "no update came");
  expectEqual(new Set(updates.map((it) => it.sessionId)).size, 1, "sessions that updates are on");
  const kinds = new Set(updates.map((it) => it.update.sessionUpdate));
  for (const kind of ["subagent_update", "session_message", "session_message_chunk"]) {
    expect(!kinds.has(kind), `${kind} was sent to a client that does not know it`);
  }
  const children = updates.filter((it) => it.update._meta?.offshoot?.subagent?.childSessionId);
  const ids = new Set(children.map((it) => it.update._meta.offshoot.subagent.childSessionId));
  expectEqual(ids.size, 4, "children named on their calls");
  const answers = messages.filter((it) => it.result?.stopReason);
  expectEqual(answers.map((it) => it.result.stopReason), ["end_turn"], "stop reasons");
});

await check("acpx: exec allows what a child asks", async () => {
  rmSync(join(workspace, "guarded.txt"), { force: true });
  const output = await acpx("exec", "a guarded child");
  expect(output.includes("All parts are done."), output);
  expect(existsSync(join(workspace, "guarded.txt")), "nothing was written");
});

await check("acpx: sessions new, then two prompts of one session", async () => {
  await acpx("sessions", "new");
  expect((await acpx("prompt", "hello")).includes("lead heard hello"), "the first prompt was not answered");
  expect((await acpx("prompt", "again")).includes("lead heard again"), "the second prompt was not answered");
});

await check("acpx: cancel from another process ends the prompt", async () => {
  const prompt = start("prompt", "an endless child");
  while (!prompt.output.includes("endless part")) {
    const more = await Promise.race([once(prompt.child.stdout, "data"), prompt.ended.then(() => "ended")]);
    expect(more !== "ended", `the prompt ended by itself: ${prompt.output}`);
  }
  await acpx("cancel");
  await prompt.ended;
  expect(/cancelled/i.test(prompt.output), prompt.output);
});

await check("acpx: sessions close", async () => {
  await acpx("sessions", "close");
});

finish();
