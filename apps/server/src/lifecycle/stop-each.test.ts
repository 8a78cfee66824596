import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { stopEach } from "./stop-each.ts";

test("a failed step is logged and does not prevent later ones", async () => {
  const log = createSilentLog();
  const done: string[] = [];
  await stopEach(log, {
    first: () => Promise.reject(new Error("no room")),
    second: () => {
      throw new Error("no room either");
    },
    third: async () => done.push("third"),
  });
  expect(done).toEqual(["third"]);
  expect(log.lines.map(({ fields, level }) => [level, "step" in fields && fields.step])).toEqual([
    ["error", "first"],
    ["error", "second"],
  ]);
});
