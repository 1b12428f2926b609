"""The Python SDK against `offshoot acp`: a client that knows no child sessions.

Its schema is older than ours, so this shows that an old client survives: a prompt that delegates and a
permission asked by a child, with nothing logged that could not be read. `cargo xtask peers` runs it once per
pinned version of the SDK and sets the environment, as `client.mjs` explains.
"""

import asyncio
import importlib.metadata
import logging
import os
import sys
from pathlib import Path

from acp import PROTOCOL_VERSION, spawn_agent_process
from acp.schema import AllowedOutcome, ClientCapabilities, RequestPermissionResponse, TextContentBlock

VERSION = importlib.metadata.version("agent-client-protocol")
WORK = Path(os.environ["PEERS_WORK"])
SCRIPT = Path(__file__).resolve().parent / "script.yaml"


class Complaints(logging.Handler):
    """Everything that the SDK logs as a warning or worse."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(self.format(record))


class Client:
    """Notes updates, and allows once what it is asked."""

    def __init__(self):
        self.updates = []
        self.asked = []

    async def session_update(self, session_id, update, **_):
        self.updates.append((session_id, update))

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((session_id, tool_call))
        once = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(outcome="selected", option_id=once.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def ext_method(self, method, params):
        raise AssertionError(f"unexpected request {method}")

    async def ext_notification(self, method, params):
        raise AssertionError(f"unexpected notification {method}")

    def on_connect(self, conn):
        pass

    def words(self, session):
        chunks = [it for on, it in self.updates if on == session and it.session_update == "agent_message_chunk"]
        return "".join(chunk.content.text for chunk in chunks)


def text_block(text):
    return TextContentBlock(type="text", text=text)


def expect(condition, otherwise):
    if not condition:
        raise AssertionError(otherwise)


async def talk():
    workspace, data, home = WORK / "workspace", WORK / "data", WORK / "home"
    for folder in (workspace, data, home):
        folder.mkdir(parents=True, exist_ok=True)
    arguments = ["acp", "--data-dir", str(data), "--model", f"scripted/{SCRIPT}", "--agent", "lead"]
    client = Client()
    program = os.environ["PEERS_OFFSHOOT"]
    async with spawn_agent_process(client, program, *arguments, env={"HOME": str(home)}) as (agent, _):
        about = await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities())
        expect(about.protocol_version == 1, f"protocol version {about.protocol_version}")
        opened = await agent.new_session(cwd=str(workspace), mcp_servers=[])
        session = opened.session_id

        answer = await agent.prompt(session_id=session, prompt=[text_block("the whole tree, please")])
        expect(answer.stop_reason == "end_turn", f"stop reason {answer.stop_reason}")
        words = client.words(session)
        expect(words.endswith("The background worker is done."), f"the agent said: {words}")
        expect({on for on, _ in client.updates} == {session}, "updates came on sessions of children")

        answer = await agent.prompt(session_id=session, prompt=[text_block("a guarded child")])
        expect(answer.stop_reason == "end_turn", f"stop reason {answer.stop_reason}")
        expect([on for on, _ in client.asked] == [session], f"permissions: {client.asked}")
        title = client.asked[0][1].title
        expect(title.startswith("worker: "), f"the title does not name the child: {title}")
        expect((workspace / "guarded.txt").exists(), "nothing was written")
    return len(client.updates)


def main():
    name = f"python {VERSION}: a delegating prompt and a child's permission, and nothing that cannot be read"
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    try:
        updates = asyncio.run(asyncio.wait_for(talk(), 60))
        expect(not complaints.said, "; ".join(complaints.said))
    except Exception as error:  # A line per check, whatever went wrong.
        print(f"failed  {name}: {type(error).__name__}: {error}")
        return 1
    print(f"ok      {name}: {updates} updates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
