import { readdirSync } from "node:fs";
import { join } from "node:path";
import { startTestEngine, whyNoEngine } from "@appdb/testkit/container-engine";
import { testCodeAttack } from "@appdb/testkit/contracts/code-attack";
import { testPods } from "@appdb/testkit/contracts/pod-driver";
import { testKilledOwners } from "@appdb/testkit/contracts/pod-driver-kills";
import { testLinks } from "@appdb/testkit/contracts/pod-driver-links";
import { openPodStage } from "@appdb/testkit/contracts/pod-driver-stage";
import { testTasks } from "@appdb/testkit/contracts/pod-driver-tasks";
import { afterAll, expect, test } from "vitest";
import { createContainerPods } from "./container-pods.ts";
import { openEngine } from "./engine-client.ts";

const why = whyNoEngine();
if (why !== undefined) test.skip(`containers: ${why}`);
else {
  const engine = await startTestEngine();
  afterAll(() => engine[Symbol.asyncDispose]());
  const driver = {
    name: "container",
    module: "@appdb/adapters/pods/container-pods",
    factory: "createContainerPods",
    options: { engine_socket: engine.socket },
    ends_bare_daemons: true,
    kill_delays_ms: [0, 100, 250, 500],
    bounds_memory: true,
    bounds_tasks: true,
  } as const;
  testPods(driver);
  testTasks(driver);
  testLinks(driver, { compares_mounts: false });
  testKilledOwners(driver);
  testCodeAttack({
    name: "container",
    create: (input) => createContainerPods({ ...input, engine_socket: engine.socket }),
    most_children: 200,
  });

  test("a task that writes to its notes without end is ended, and leaves nothing of them", async () => {
    await using stage = openPodStage(driver);
    const pods = await stage.open();
    // its notes are an argument of the container's first process
    const script =
      'notes=$(tr "\\0" "\\n" </proc/1/cmdline | grep /pods/.tasks/ | head -n 1); cat /dev/zero >"$notes/exit"';
    const task = stage.task({ program: "/bin/sh", args: ["-c", script] });
    const limits = { ...task.limits, disk_bytes: 10_000_000 };
    const exit = await pods.run({ ...task, limits }, AbortSignal.timeout(60_000));
    expect(exit).toMatchObject({ exceeded: "disk" });
    expect(readdirSync(join(stage.folder, "pods", ".tasks"))).toEqual([]);
  });

  test("of all that was started, stopped and killed the engine has no container left", async () => {
    const { docker } = await openEngine(engine.socket);
    expect(await docker.listContainers({ all: true })).toEqual([]);
  });
}
