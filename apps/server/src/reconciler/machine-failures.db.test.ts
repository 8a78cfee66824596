import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { enqueueReconcileDatabase } from "../queue/jobs.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { openReconcilerStage, type ReconcilerStage } from "../testing/reconciler-stage.ts";

let server: TestServer;
let stage: ReconcilerStage;
beforeEach(async () => {
  server = await openServer();
  stage = await openReconcilerStage(server);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server[Symbol.asyncDispose]();
});

const failing = (error: Error) => vi.spyOn(stage.machine.driver, "ensure").mockRejectedValue(error);
const noDriver = () => appError("pods_unavailable", { detail: "slirp4netns is missing." });

test("the next server starts a database that failed because of the machine", async () => {
  const broken = failing(noDriver());
  {
    await using _reconciler = await stage.start();
    expect((await stage.settles("FAILED")).failure?.code).toBe("pods_unavailable");
  }
  broken.mockRestore();
  await using _next = await stage.start();
  expect(await stage.settles("AVAILABLE")).toMatchObject({ open: 0 });
});

test("a running server retries it when it is due", async () => {
  const broken = failing(noDriver());
  await using _reconciler = await stage.start();
  await stage.settles("FAILED");
  const { db } = server.deps;
  const tries = broken.mock.calls.length;
  await enqueueReconcileDatabase(db, stage.id);
  expect((await stage.settles("FAILED")).failure?.code).toBe("pods_unavailable");
  expect(broken.mock.calls.length).toBe(tries);
  broken.mockRestore();
  await sql`update control.databases set retry_at = now() where id = ${stage.id}`.execute(db);
  await enqueueReconcileDatabase(db, stage.id);
  await stage.settles("AVAILABLE");
});

test("a lack of processes is reported as a machine failure; other failures are not retried", async () => {
  const broken = failing(Object.assign(new Error("spawn EAGAIN"), { code: "EAGAIN" }));
  await using _reconciler = await stage.start();
  expect((await stage.settles("FAILED")).failure).toMatchObject({
    code: "machine_exhausted",
    detail: expect.stringContaining("processes (EAGAIN)"),
  });
  broken.mockRejectedValue(appError("image_missing", { detail: "The image is gone." }));
  await stage.ask("retry");
  expect((await stage.settles("FAILED")).failure?.code).toBe("image_missing");
  const row = await server.deps.db
    .selectFrom("control.databases")
    .select("retry_at")
    .where("id", "=", stage.id)
    .executeTakeFirstOrThrow();
  expect(row.retry_at).toBeNull();
});
