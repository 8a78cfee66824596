import { expect, test } from "vitest";
import { StartBackoff } from "./start-backoff.ts";

test("suggests an update when Python is missing", () => {
  const backoff = new StartBackoff();
  const reason = "cannot be started: spawn /srv/.venv3/bin/python ENOENT";
  backoff.failed({ was_ready: false, import_error: undefined, reason }, 0);
  expect(backoff.error(["app"])).toMatchObject({
    code: "worker_unavailable",
    message: "The Python of the last update is missing: /srv/.venv3/bin/python no longer exists.",
    hint: expect.stringContaining("cli schema update <file> <target>"),
  });
});
