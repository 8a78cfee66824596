import { useSandbox } from "@appdb/testkit/sandbox";
import { afterAll, beforeAll, describe } from "vitest";
import { type AttackTarget, openAttackTarget } from "./support/attack-target.ts";
import { testControlAttacks } from "./support/control-attacks.ts";
import { testExportAttacks } from "./support/export-attacks.ts";
import { testGatewayAttacks } from "./support/gateway-attacks.ts";
import { testPodAttacks } from "./support/pod-attacks.ts";
import { STORED_FILES, testStorageAttacks } from "./support/storage-attacks.ts";
import { testTreeAttacks } from "./support/tree-attacks.ts";

const OPEN_MS = 120_000;

/** Every attack runs against one built server with sandboxed pods. The attacker is another organization. */
if ((await useSandbox()) !== undefined) {
  describe("with the driver sandbox", () => {
    let target: AttackTarget;
    beforeAll(async () => {
      target = await openAttackTarget({
        SERVICE_PODS: "sandbox",
        SERVICE_MAX_STORED_FILES: String(STORED_FILES),
        SERVICE_MAX_STORED_GB: "1",
        SERVICE_SIGN_UP: "open",
        // the attacker's webhooks are on this machine
        SERVICE_WEBHOOK_PRIVATE: "1",
      });
    }, OPEN_MS);
    afterAll(() => target?.[Symbol.asyncDispose]());

    testTreeAttacks(() => target);
    testExportAttacks(() => target);
    testGatewayAttacks(() => target);
    testControlAttacks(() => target);
    testPodAttacks(() => target);
    testStorageAttacks(() => target);
  });
}
