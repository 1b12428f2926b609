// The npm SDK's `unstable` client against `offshoot acp`, with children as sessions of their own
// (`clientCapabilities.subagents`). The SDK's generated schema judges every update.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { Client, check, expect, expectAllValid, expectAnnouncedFirst, expectEqual, finish, folder } from "./client.mjs";

const capabilities = { subagents: {}, session: { notices: {} } };
const delegating = { ...capabilities, _meta: { offshoot: { subagents: {} } } };
const workspace = folder("workspace");

/** Returns the code of the error that a request is answered with. */
async function errorCode(request) {
  try {
    await request;
  } catch (error) {
    return error.code;
  }
  throw new Error("the request was accepted");
}

let kept;

await check("sdk: initialize and session/new say what the agent can do", () =>
  Client.run(capabilities, async (client) => {
    expectEqual(client.about.protocolVersion, 1, "protocol version");
    expectEqual(client.about.agentInfo.name, "offshoot", "agent");
    expect(client.about.agentCapabilities.loadSession, "sessions cannot be loaded");
    const session = await client.open(workspace);
    expectEqual(session.modes.currentModeId, "lead", "mode");
    expectEqual(session.configOptions.map((it) => it.id), ["agent", "model"], "options");
    const commands = await client.until(() =>
      client.read.find((it) => it.update.sessionUpdate === "available_commands_update"),
    );
    const names = commands.update.availableCommands.map((it) => it.name);
    expect(["worker", "manager", "compact"].every((it) => names.includes(it)), `commands: ${names}`);
    expectAllValid(client);
  }),
);

await check("sdk: blocking, background and nested children are announced, shown and end idle", () =>
  Client.run(capabilities, async (client) => {
    const { sessionId } = await client.open(workspace);
    const answer = await client.prompt(sessionId, "the whole tree, please");
    expectEqual(answer.stopReason, "end_turn", "stop reason");
    expect(client.words(sessionId).endsWith("The background worker is done."), client.words(sessionId));
    const children = client.children();
    expectEqual(children.length, 4, "children");
    const [manager] = children.filter((it) => it.title.startsWith("manager"));
    const [innermost] = children.filter((it) => it.title.includes("innermost"));
    expectEqual(innermost.parent, manager.id, "rule 2: parent of the nested child");
    for (const child of children.filter((it) => it !== innermost)) {
      expectEqual(child.parent, sessionId, `parent of ${child.title}`);
    }
    for (const child of children) {
      const states = child.states.map((it) => it.state);
      expectEqual([states[0], states.at(-1)], ["running", "idle"], `states of ${child.title}`);
      expectEqual(child.states.at(-1).stopReason, "end_turn", `stop reason of ${child.title}`);
      expect(client.words(child.id).includes("done"), `${child.title} said "${client.words(child.id)}"`);
    }
    const messages = client.read.filter((it) => it.update.sessionUpdate === "session_message");
    expect(messages.length >= 8, `rule 11: ${messages.length} views of delegations and answers`);
    expectAnnouncedFirst(client);
    expectAllValid(client);
    kept = { sessionId, shape: shape(client.raw), words: words(client, sessionId) };
    return `${client.raw.length} updates`;
  }),
);

/** What updates show of a tree, without how text was cut into chunks. */
function shape(updates) {
  const passing = ["agent_message_chunk", "agent_thought_chunk", "usage_update", "available_commands_update", "notice"];
  const lasting = updates.filter((it) => !passing.includes(it.update.sessionUpdate));
  const sessions = {};
  for (const { sessionId, update } of lasting) (sessions[sessionId] ??= []).push(update);
  return Object.fromEntries(Object.entries(sessions).sort());
}

/** Returns the words of every session by id. */
function words(client, root) {
  const ids = [root, ...client.children().map((it) => it.id)].sort();
  return Object.fromEntries(ids.map((id) => [id, client.words(id)]));
}

await check("sdk: rule 19: session/load in a new process replays the same tree", () =>
  Client.run(capabilities, async (client) => {
    expect(kept !== undefined, "there is no session to load");
    const request = { sessionId: kept.sessionId, cwd: workspace, mcpServers: [] };
    const loaded = await client.request("session/load", request);
    expectEqual(loaded.modes.currentModeId, "lead", "mode");
    // What stands behind the response are snapshots of the present (rule 20).
    expectEqual(shape(client.raw.slice(0, client.answeredAt)), kept.shape, "updates by session");
    expectEqual(words(client, kept.sessionId), kept.words, "words by session");
    expectAnnouncedFirst(client);
    const answer = await client.prompt(kept.sessionId, "hello again");
    expectEqual(answer.stopReason, "end_turn", "stop reason of the next prompt");
    expectAllValid(client);
  }),
);

await check("sdk: rule 14: session/cancel of one child leaves its parent at work", () =>
  Client.run(capabilities, async (client) => {
    const { sessionId } = await client.open(workspace);
    const prompted = client.prompt(sessionId, "an endless child");
    const child = await client.until(() => client.children().find((it) => client.words(it.id) !== ""));
    expect(child.capabilities?.cancel, "the child may not be cancelled");
    await client.notify("session/cancel", { sessionId: child.id });
    const answer = await prompted;
    expectEqual(answer.stopReason, "end_turn", "stop reason of the parent");
    const last = client.children()[0].states.at(-1);
    expectEqual([last.state, last.stopReason], ["idle", "cancelled"], "state of the child");
    expect(client.words(sessionId).includes("All parts are done."), "the parent did not go on");
    expectAllValid(client);
  }),
);

await check("sdk: rule 15: session/cancel of the root ends the prompt and the child it waits for", () =>
  Client.run(capabilities, async (client) => {
    const { sessionId } = await client.open(workspace);
    const prompted = client.prompt(sessionId, "an endless child");
    await client.until(() => client.children().find((it) => client.words(it.id) !== ""));
    await client.notify("session/cancel", { sessionId });
    expectEqual((await prompted).stopReason, "cancelled", "stop reason");
    const last = client.children()[0].states.at(-1);
    expectEqual([last.state, last.stopReason], ["idle", "cancelled"], "state of the child");
    expectAllValid(client);
  }),
);

await check("sdk: rule 4: a child asks for permission on its own session", () =>
  Client.run(capabilities, async (client) => {
    const { sessionId } = await client.open(workspace);
    const answer = await client.prompt(sessionId, "a guarded child");
    expectEqual(answer.stopReason, "end_turn", "stop reason");
    const [child] = client.children();
    expectEqual(client.asked.map((it) => it.sessionId), [child.id], "sessions that asked");
    expect(client.asked[0].toolCall.title.includes("guarded.txt"), client.asked[0].toolCall.title);
    const states = child.states.map((it) => it.state);
    expect(states.includes("requires_action"), `rule 9: states ${states}`);
    const path = join(workspace, "guarded.txt");
    expect(existsSync(path) && readFileSync(path, "utf8") === "written by a worker", "nothing was written");
    expectAnnouncedFirst(client);
    expectAllValid(client);
  }),
);

await check("sdk: rules 12 and 13: a child takes no request and is not listed", () =>
  Client.run(capabilities, async (client) => {
    const { sessionId } = await client.open(workspace);
    await client.prompt(sessionId, "a guarded child");
    const [{ id }] = client.children();
    const cwd = workspace;
    for (const [method, params] of [
      ["session/prompt", { prompt: [{ type: "text", text: "hi" }] }],
      ["session/load", { cwd, mcpServers: [] }],
      ["session/resume", { cwd, mcpServers: [] }],
      ["session/fork", { cwd, mcpServers: [] }],
      ["session/close", {}],
      ["session/delete", {}],
      ["session/set_mode", { modeId: "solo" }],
      ["session/set_config_option", { configId: "agent", value: "solo" }],
    ]) {
      expectEqual(await errorCode(client.request(method, { sessionId: id, ...params })), -32602, method);
    }
    const { sessions } = await client.request("session/list", {});
    expect(sessions.some((it) => it.sessionId === sessionId), "the session is not listed");
    expect(!sessions.some((it) => it.sessionId === id), "the child is listed");
  }),
);

await check("sdk: session/set_mode and session/set_config_option change who answers", () =>
  Client.run(capabilities, async (client) => {
    const { sessionId } = await client.open(workspace);
    await client.request("session/set_mode", { sessionId, modeId: "solo" });
    await client.prompt(sessionId, "one");
    expectEqual(client.words(sessionId), "solo heard one", "answer");
    const mode = client.read.findLast((it) => it.update.sessionUpdate === "current_mode_update");
    expectEqual(mode?.update.currentModeId, "solo", "announced mode");
    const option = { sessionId, configId: "agent", value: "lead" };
    const { configOptions } = await client.request("session/set_config_option", option);
    expectEqual(configOptions.find((it) => it.id === "agent").currentValue, "lead", "option");
    await client.prompt(sessionId, "two");
    expect(client.words(sessionId).endsWith("lead heard two"), client.words(sessionId));
    const wrong = { sessionId, configId: "agent", value: "nobody" };
    expectEqual(await errorCode(client.request("session/set_config_option", wrong)), -32602, "unknown agent");
    expectAllValid(client);
  }),
);

await check("sdk: proposal 855: the catalogue is listed and a required subagent works first", () =>
  Client.run(delegating, async (client) => {
    const { sessionId } = await client.open(workspace);
    const commands = await client.until(() =>
      client.read.find((it) => it.update.sessionUpdate === "available_commands_update"),
    );
    const catalogue = commands.update._meta.offshoot.availableSubagents.map((it) => it.id);
    expect(catalogue.includes("worker"), `catalogue: ${catalogue}`);
    const delegate = (delegation) => ({ _meta: { offshoot: { delegation } } });
    const require = delegate({ policy: "require", subagentId: "worker", runMode: "foreground" });
    const answer = await client.prompt(sessionId, "required part", require);
    expectEqual(answer.stopReason, "end_turn", "stop reason");
    expectEqual(client.children().map((it) => it.title), ["worker: required part"], "children");
    const said = client.read.findIndex((it) => it.update.sessionUpdate === "agent_message_chunk");
    expect(client.read[said].sessionId !== sessionId, "the parent's model was asked before the child");
    const unknown = delegate({ policy: "require", subagentId: "nobody" });
    expectEqual(await errorCode(client.prompt(sessionId, "x", unknown)), -32602, "unknown subagent");
    const wrong = delegate({ policy: "auto", subagentId: "worker" });
    expectEqual(await errorCode(client.prompt(sessionId, "x", wrong)), -32602, "auto with a name");
    expectAnnouncedFirst(client);
    expectAllValid(client);
  }),
);

finish();
