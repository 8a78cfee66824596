import { startTestEngine, whyNoEngine } from "@appdb/testkit/container-engine";
import { testCodeAttack } from "@appdb/testkit/contracts/code-attack";
import { testPods } from "@appdb/testkit/contracts/pod-driver";
import { testKilledOwners } from "@appdb/testkit/contracts/pod-driver-kills";
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
  testKilledOwners(driver);
  testCodeAttack({
    name: "container",
    create: (input) => createContainerPods({ ...input, engine_socket: engine.socket }),
    most_children: 200,
  });

  test("of all that was started, stopped and killed the engine has no container left", async () => {
    const { docker } = await openEngine(engine.socket);
    expect(await docker.listContainers({ all: true })).toEqual([]);
  });
}
