// 100 sessions of one `offshoot acp`, prompted at once, ten children each: every prompt is answered, and no
// session shows a word of another.

import { Client, check, expect, expectAllValid, expectAnnouncedFirst, expectEqual, finish, folder } from "./client.mjs";

const SESSIONS = 100;
const CHILDREN = 10;

await check(
  `sdk: ${SESSIONS} sessions in one process with ${CHILDREN} children each are answered and not mixed up`,
  () =>
    Client.run({ subagents: {} }, async (client) => {
      const started = Date.now();
      const workspace = folder("workspace");
      const marks = Array.from({ length: SESSIONS }, (_, at) => `mark${String(at).padStart(3, "0")}`);
      const opened = await Promise.all(marks.map(() => client.open(workspace)));
      const ids = opened.map((it) => it.sessionId);
      expectEqual(new Set(ids).size, SESSIONS, "distinct sessions");
      const answers = await Promise.all(ids.map((id, at) => client.prompt(id, `fan out ${marks[at]}`)));
      for (const answer of answers) expectEqual(answer.stopReason, "end_turn", "stop reason");
      const children = client.children();
      expectEqual(children.length, SESSIONS * CHILDREN, "children");
      const markOf = new Map(ids.map((id, at) => [id, marks[at]]));
      for (const child of children) markOf.set(child.id, markOf.get(child.parent));
      for (const { sessionId, update } of client.read) {
        const own = markOf.get(sessionId);
        expect(own !== undefined, `an update of the unknown session ${sessionId}`);
        for (const [mark] of JSON.stringify(update).matchAll(/mark\d{3}/g)) {
          expectEqual(mark, own, `a word on the session of ${own}`);
        }
      }
      ids.forEach((id, at) => {
        const parts = client.words(id).match(/part \d+;/g) ?? [];
        expectEqual(new Set(parts).size, CHILDREN, `answers of children told by ${marks[at]}`);
      });
      expectAnnouncedFirst(client);
      expectAllValid(client);
      return `${client.raw.length} updates in ${((Date.now() - started) / 1000).toFixed(1)} s`;
    }),
  300,
);

finish();
