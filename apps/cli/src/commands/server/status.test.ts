import { expect, test } from "vitest";
import { runCli } from "../../testing/fake-context.ts";

const STATUS = {
  home: "/h",
  version: "0.9.0",
  url: "http://127.0.0.1:8080",
  is_responding: true,
  organizations: 1,
  suspended: 0,
  databases: { AVAILABLE: 2 },
  services: {},
  operations_waiting: 0,
  free_disk_bytes: 2 ** 30,
  disk_problem: null,
};

test.each([
  [{}, "home /h, version 0.9.0, http://127.0.0.1:8080\n1 organization\n"],
  [
    { is_responding: false },
    "home /h, version 0.9.0, http://127.0.0.1:8080 (does not respond)\nThe server does not run or hangs. These are its last states:\n",
  ],
  [
    { is_responding: false, url: null },
    "home /h, version 0.9.0, not listening\nThe server does not run or hangs. These are its last states:\n",
  ],
])("cli server status of %j says whether the server responds", async (more, begin) => {
  const operate = async () => ({ ...STATUS, ...more }) as never;
  const { stdout } = await runCli("server status", { context: { operate } });
  expect(stdout.slice(0, begin.length)).toBe(begin);
  expect(stdout).toContain("databases: 2 AVAILABLE\n");
});

test("cli server status names a full disk", async () => {
  const disk_problem = {
    code: "disk_full",
    what: "The disk of the home has 0.10 GB left: organizations cannot write.",
  };
  const operate = async () => ({ ...STATUS, disk_problem }) as never;
  const { stdout } = await runCli("server status", { context: { operate } });
  expect(stdout).toContain(`${disk_problem.code}: ${disk_problem.what} Free space on that disk.\n`);
});
