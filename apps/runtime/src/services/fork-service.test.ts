import { afterEach, expect, test } from "vitest";
import { forkService } from "./fork-service.ts";

const { execPath } = process;
afterEach(() => {
  process.execPath = execPath;
});

test("a daemon whose Node is gone says by which command it gets another one", () => {
  process.execPath = "/srv/.venv3/bin/node";
  const spec = {} as Parameters<typeof forkService>[2];
  expect(() => forkService({ file: "pod.js", node_options: [] }, "/nowhere", spec)).toThrow(
    expect.objectContaining({
      code: "service_failed",
      message: "The daemon runs with a Node that is gone: there is no /srv/.venv3/bin/node any more.",
      hint: expect.stringContaining("cli daemon restart"),
    }),
  );
});
