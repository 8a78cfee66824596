import { startTestEngine, whyNoEngine } from "@appdb/testkit/container-engine";
import { afterAll, test } from "vitest";
import { testOrganizations } from "./support/organizations.ts";

const why = whyNoEngine();
if (why !== undefined) test.skip(`containers: ${why}`);
else {
  const engine = await startTestEngine();
  afterAll(() => engine[Symbol.asyncDispose]());
  testOrganizations("container", { SERVICE_PODS: "container", SERVICE_ENGINE_SOCKET: engine.socket });
}
