import { testPods } from "@appdb/testkit/contracts/pod-driver";
import { testKilledOwners } from "@appdb/testkit/contracts/pod-driver-kills";
import { testLinks } from "@appdb/testkit/contracts/pod-driver-links";
import { testTasks } from "@appdb/testkit/contracts/pod-driver-tasks";
import { useSandbox } from "@appdb/testkit/sandbox";

const options = await useSandbox();
if (options !== undefined) {
  const driver = {
    name: "sandbox",
    module: "@appdb/pods/sandbox/sandbox-pods",
    factory: "createSandboxPods",
    options,
    ends_bare_daemons: true,
    kill_delays_ms: [0, 3, 6, 10, 15, 25, 40, 80],
    bounds_memory: true,
    bounds_tasks: true,
  } as const;
  testPods(driver);
  testTasks(driver);
  testLinks(driver);
  testKilledOwners(driver);
}
