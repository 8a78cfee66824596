import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { faultApp, openFaultTarget } from "./support/fault-target.ts";
import { bundleHeldServer } from "./support/held-server.ts";

test("after a power cut, databases keep their rows and states, and operations end", {
  timeout: 240_000,
}, async () => {
  bundleHeldServer();
  await using target = await openFaultTarget();
  const { inserters, project, server } = target;
  // three databases: awake and written to (data), asleep (main), and in the middle of an update (other)
  await target.settles("main", "STOPPED");
  const made = await target.update("other", await target.upload(faultApp(0)));
  expect(made.status, JSON.stringify(made)).toBe(202);
  const { id: other } = await target.settles("other", "AVAILABLE");
  server.hold("pod_stopped");
  const update = await target.update("other", await target.upload(faultApp(0), { memory_mb: 1_536 }));
  expect(update.status, JSON.stringify(update)).toBe(202);
  await eventually(() => expect(server.held()).toBe("pod_stopped"), { timeout_ms: 60_000 });
  await eventually(() => expect(inserters.outcome.acknowledged.size).toBeGreaterThan(20), { timeout_ms: 60_000 });
  const { id } = await target.see("data");
  const lock = join(project.home, "server", "databases", id, "data", "postgres", "18", "postmaster.pid");
  // the inserters continue: rows are in flight when the power is cut
  await target.cutPower();
  expect(readFileSync(lock, "utf8")).not.toBe("");
  const before = new Set(inserters.outcome.acknowledged.keys());
  await server.start();

  await target.settles("data", "AVAILABLE");
  expect(await target.settles("main", "STOPPED")).toMatchObject({ pods: [] });
  const after = await target.settles("other", "AVAILABLE");
  expect(after).toMatchObject({ resources: { memory_mb: 1_536 }, failure: null });
  const events = `select outcome from control.events where operation_id = '${update.json.operation.id}' order by id`;
  expect(await target.queryControl(events)).toEqual([["pending"], ["succeeded"]]);
  const stored = new Set((await target.queryData(id, "select token from docs")).map(([token]) => token));
  expect([...before].filter((token) => !stored.has(token))).toEqual([]);
  await eventually(() => expect(inserters.outcome.acknowledged.size).toBeGreaterThan(before.size + 5), {
    timeout_ms: 60_000,
  });
  await eventually(() => expect(target.orphans([id, other])).toEqual([]), { timeout_ms: 60_000 });
  expect(existsSync(lock)).toBe(true);
  expect(
    readdirSync(join(project.home, "server", "pods"))
      .filter((name) => name.startsWith("db-"))
      .sort(),
  ).toEqual([id, other].map((one) => `db-${one}`).sort());
});
