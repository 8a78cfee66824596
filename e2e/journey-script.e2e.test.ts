import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";

const run = promisify(execFile);

test("the CI journey for macOS and Windows works here", async () => {
  const script = join(ROOT, "scripts", "local-journey.mjs");
  const { stdout } = await run(process.execPath, [script, "--command", join(ROOT, "cli")]);
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("10 passed, 0 failed");
});

test("the journey reports a missing command", async () => {
  const script = join(ROOT, "scripts", "local-journey.mjs");
  await expect(run(process.execPath, [script, "--command", "nowhere"])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("There is no command nowhere."),
  });
});
