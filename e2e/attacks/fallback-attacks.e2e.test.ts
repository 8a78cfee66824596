import { join } from "node:path";
import { canMount } from "@appdb/testkit/can-mount";
import { eventually } from "@appdb/testkit/eventually";
import { useSandbox } from "@appdb/testkit/sandbox";
import { openTestProject, ROOT } from "@appdb/testkit/test-project";
import { describe, expect, test } from "vitest";

const START_MS = 60_000;
const SERVER = `node '${join(ROOT, "dist", "server.js")}'`;
/** In a private mount namespace, where the machine has no bubblewrap. */
const WITHOUT_BWRAP = `unshare --mount --propagation private /bin/sh -c "mount --bind /dev/null /usr/bin/bwrap && exec ${SERVER}"`;

/** When a part of the sandbox is missing, tenants must not run as root. */
if ((await useSandbox()) !== undefined && canMount()) {
  describe("a server of root without a configured driver", () => {
    test("runs pods in sandboxes where the machine supports them", async () => {
      await using project = openTestProject({ env: { SERVICE_PODS: "" } });
      const started = project.start(SERVER);
      await eventually(() => expect(started.output()).toMatch(/^Dashboard: /m), { timeout_ms: START_MS });
      expect(started.output()).toContain('"driver":"sandbox"');
    });

    test("ends where the machine has no bubblewrap and names it", async () => {
      await using project = openTestProject({ env: { SERVICE_PODS: "" } });
      const started = project.start(WITHOUT_BWRAP);
      await eventually(
        () => expect(started.child.exitCode ?? /^Dashboard: /m.exec(started.output())?.[0]).toBeTruthy(),
        { timeout_ms: START_MS },
      );
      expect(started.output()).not.toContain('"driver":"process"');
      expect(started.child.exitCode, started.output()).toBeGreaterThan(0);
      expect(started.output()).toContain("bubblewrap");
    });
  });
}
