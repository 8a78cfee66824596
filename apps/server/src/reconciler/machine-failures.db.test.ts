import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { enqueueReconcileDatabase } from "../queue/jobs.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { openTestReconciler, type TestReconciler } from "../testing/test-reconciler.ts";

let server: TestServer;
let setup: TestReconciler;
beforeEach(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server[Symbol.asyncDispose]();
});

const failing = (error: Error) => vi.spyOn(setup.machine.driver, "ensure").mockRejectedValue(error);
const noDriver = () => appError("pods_unavailable", { detail: "slirp4netns is missing." });

test("the next server starts a database that failed because of the machine", async () => {
  const broken = failing(noDriver());
  {
    await using _reconciler = await setup.start();
    expect((await setup.settles("FAILED")).failure?.code).toBe("pods_unavailable");
  }
  broken.mockRestore();
  await using _next = await setup.start();
  expect(await setup.settles("AVAILABLE")).toMatchObject({ open: 0 });
});

test("a running server retries it when it is due", async () => {
  const broken = failing(noDriver());
  await using _reconciler = await setup.start();
  await setup.settles("FAILED");
  const { db } = server.deps;
  const tries = broken.mock.calls.length;
  await enqueueReconcileDatabase(db, setup.id);
  expect((await setup.settles("FAILED")).failure?.code).toBe("pods_unavailable");
  expect(broken.mock.calls.length).toBe(tries);
  broken.mockRestore();
  await sql`update control.databases set retry_at = now() where id = ${setup.id}`.execute(db);
  await enqueueReconcileDatabase(db, setup.id);
  await setup.settles("AVAILABLE");
});

test("a lack of processes is reported as a machine failure; other failures are not retried", async () => {
  const broken = failing(Object.assign(new Error("spawn EAGAIN"), { code: "EAGAIN" }));
  await using _reconciler = await setup.start();
  expect((await setup.settles("FAILED")).failure).toMatchObject({
    code: "machine_exhausted",
    detail: expect.stringContaining("processes (EAGAIN)"),
  });
  broken.mockRejectedValue(appError("image_missing", { detail: "The image is gone." }));
  await setup.ask("retry");
  expect((await setup.settles("FAILED")).failure?.code).toBe("image_missing");
  const row = await server.deps.db
    .selectFrom("control.databases")
    .select("retry_at")
    .where("id", "=", setup.id)
    .executeTakeFirstOrThrow();
  expect(row.retry_at).toBeNull();
});
