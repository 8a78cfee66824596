import { chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testPods } from "@appdb/testkit/contracts/pod-driver";
import { testKilledOwners } from "@appdb/testkit/contracts/pod-driver-kills";
import { openPodSetup } from "@appdb/testkit/contracts/pod-driver-setup";
import { testTasks } from "@appdb/testkit/contracts/pod-driver-tasks";
import { expect, test } from "vitest";

const driver = {
  name: "process",
  module: "@appdb/pods/driver/process-pods",
  factory: "createProcessPods",
  ends_bare_daemons: false,
  kill_delays_ms: [0, 3, 6, 10, 15, 25, 40, 80],
  bounds_memory: false,
  bounds_tasks: false,
} as const;

testPods(driver);
testTasks(driver);
testKilledOwners(driver);

test.runIf(process.getuid?.() === 0)(
  "what a driver gave to a user of the pod's own is the server's again",
  async () => {
    await using setup = openPodSetup(driver);
    const pods = await setup.open();
    const spec = setup.spec();
    const [data = "", , sockets = ""] = spec.volumes.map(({ target }) => target);
    for (const folder of [data, sockets]) mkdirSync(folder, { recursive: true });
    const files = [data, join(data, "kept"), sockets];
    writeFileSync(join(data, "kept"), "");
    for (const path of files) chownSync(path, 234_567, 234_567);
    await pods.ensure(spec, AbortSignal.timeout(60_000));
    expect(files.map((path) => statSync(path).uid)).toEqual([0, 0, 0]);
  },
);

test("refuses pods and builds of a second organization without naming the first", async () => {
  await using setup = openPodSetup(driver);
  const pods = await setup.open();
  const signal = AbortSignal.timeout(60_000);
  const other = { organization_id: "org-2", database_id: "db-2", kind: "database" } as const;
  await pods.ensure(setup.spec(), signal);
  const refused = await pods.ensure(setup.spec({}, { id: "db-2", labels: other }), signal).catch((error) => error);
  expect(refused).toMatchObject({ code: "pods_one_organization" });
  expect(JSON.stringify([refused.message, refused.hint, refused.meta])).not.toContain("org-1");
  const task = setup.task({ args: ["-e", ""], labels: other });
  await expect(pods.run(task, signal)).rejects.toMatchObject({ code: "pods_one_organization" });
  await pods.stop("db-1", 1_000);
  await pods.forget({ id: "db-1", database_id: "db-1" });
  expect(await pods.run(task, signal)).toMatchObject({ code: 0 });
  expect(await pods.ensure(setup.spec({}, { id: "db-2", labels: other }), signal)).toMatchObject({ state: "running" });
});
