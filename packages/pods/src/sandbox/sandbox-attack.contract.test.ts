import { testCodeAttack } from "@appdb/testkit/contracts/code-attack";
import { useSandbox } from "@appdb/testkit/sandbox";
import { createSandboxPods } from "./sandbox-pods.ts";

const options = await useSandbox();
if (options !== undefined) {
  testCodeAttack({
    name: "sandbox",
    create: (input) => createSandboxPods({ ...input, ...options }),
    max_children: 120,
  });
}
