import { useSandbox } from "@appdb/testkit/sandbox";
import { afterAll, beforeAll, describe } from "vitest";
import { type AttackStage, openAttackStage } from "./support/attack-stage.ts";
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
    let stage: AttackStage;
    beforeAll(async () => {
      stage = await openAttackStage({
        SERVICE_PODS: "sandbox",
        SERVICE_MAX_STORED_FILES: String(STORED_FILES),
        SERVICE_MAX_STORED_GB: "1",
        SERVICE_SIGN_UP: "open",
        // the attacker's webhooks are on this machine
        SERVICE_WEBHOOK_PRIVATE: "1",
      });
    }, OPEN_MS);
    afterAll(() => stage?.[Symbol.asyncDispose]());

    testTreeAttacks(() => stage);
    testExportAttacks(() => stage);
    testGatewayAttacks(() => stage);
    testControlAttacks(() => stage);
    testPodAttacks(() => stage);
    testStorageAttacks(() => stage);
  });
}
