import { expect, test } from "vitest";
import { runCli } from "../../testing/fake-context.ts";

test("cli server databases marks a database whose disk is full", async () => {
  const database = {
    uri: "cloud://acme:main",
    id: "d1",
    state: "AVAILABLE",
    services: { ingest: "AVAILABLE" },
    failure: null,
    retry_at: null,
    disk_bytes: 983 * 2 ** 20,
    disk_limit_bytes: 2 ** 30,
  };
  const databases = [
    { ...database, is_disk_full: true },
    { ...database, uri: "cloud://acme:other", services: {}, is_disk_full: false },
  ];
  const ran = await runCli("server databases", { context: { operate: async () => ({ databases }) as never } });
  expect(ran.stdout).toBe(`cloud://acme:main  AVAILABLE  id=d1
  FULL: 983 MiB of 1.0 GiB are used, and writes are refused
  /ingest  AVAILABLE
cloud://acme:other  AVAILABLE  id=d1
`);
});
