import { expect, test } from "vitest";
import { runCli } from "../../testing/fake-context.ts";

test("cli server databases names full disks and services that cannot start", async () => {
  const database = {
    uri: "cloud://acme:main",
    id: "d1",
    state: "AVAILABLE",
    services: { ingest: "AVAILABLE", reports: "STARTING" },
    service_failures: { reports: { code: "schema_mismatch", detail: "docs has no column x." } },
    failure: null,
    retry_at: null,
    disk_bytes: 983 * 2 ** 20,
    disk_limit_bytes: 2 ** 30,
  };
  const databases = [
    { ...database, is_disk_full: true },
    { ...database, uri: "cloud://acme:other", services: {}, is_disk_full: false },
  ];
  const disk_problem = {
    code: "disk_full",
    what: "The disk of the home has 0.00 GB left: organizations cannot write.",
  };
  const ran = await runCli("server databases", {
    context: { operate: async () => ({ databases, disk_problem }) as never },
  });
  expect(ran.stdout).toBe(`disk_full: The disk of the home has 0.00 GB left: organizations cannot write.
cloud://acme:main  AVAILABLE  id=d1
  FULL: 983 MiB of 1.0 GiB are used, and writes are refused
  /ingest  AVAILABLE
  /reports  STARTING
    schema_mismatch: docs has no column x.
cloud://acme:other  AVAILABLE  id=d1
`);
});
