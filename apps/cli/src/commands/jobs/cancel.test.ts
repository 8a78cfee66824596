import { expect, test } from "vitest";
import { runCli } from "../../testing/fake-context.ts";

test("an id before its database is named as such, with the command to write", async () => {
  const ran = await runCli("jobs cancel 019a21b1-2f4a main");
  expect(ran.exit).not.toBe(0);
  expect(ran.stderr).toContain("019a21b1-2f4a is the id of a job. The database comes before it.");
  expect(ran.stderr).toContain("hint: Write: cli jobs cancel main 019a21b1-2f4a\n");
});

test("a wrong name with an id is refused as a name", async () => {
  const ran = await runCli("jobs cancel 1main 019a");
  expect(ran.stderr).not.toContain("is the id of a job");
});
