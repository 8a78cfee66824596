import { afterEach, expect, test } from "vitest";
import { forkService } from "./fork-service.ts";

const { execPath } = process;
afterEach(() => {
  process.execPath = execPath;
});

test("a daemon whose Node is gone names the command to restart it", () => {
  process.execPath = "/srv/.venv3/bin/node";
  const spec = {} as Parameters<typeof forkService>[2];
  expect(() => forkService({ file: "pod.js", node_options: [] }, "/nowhere", spec)).toThrow(
    expect.objectContaining({
      code: "service_failed",
      message: "The Node of the daemon is gone: /srv/.venv3/bin/node no longer exists.",
      hint: expect.stringContaining("cli daemon restart"),
    }),
  );
});
