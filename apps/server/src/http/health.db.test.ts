import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";

const TOKEN = "a-token-of-the-operator-that-is-long-enough";
const PROBLEM = "The certificates of 1 hosts of the gateway have ended.";

let server: TestServer;
let other: TestServer;
beforeAll(async () => {
  server = await openServer({ env: { SERVICE_METRICS_TOKEN: TOKEN } });
  // without a token
  other = await openServer({ beside: server });
  for (const one of [server, other]) one.deps.problems.push(() => [PROBLEM]);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test("a stranger reads no metrics and no problems", async () => {
  for (const shown of [{}, bearer("x"), bearer("undefined")]) {
    for (const one of [server, other]) {
      expect((await one.send("GET", "/metrics", shown)).json).toMatchObject({ status: 401, code: "unauthorized" });
      expect((await one.send("GET", "/health", shown)).json).toEqual({ status: "ok" });
      expect((await one.send("GET", "/ready", shown)).json).toEqual({ status: "ready" });
    }
  }
  expect((await other.send("GET", "/metrics", bearer(TOKEN))).status).toBe(401);
});

test("the operator's token shows both", async () => {
  const metrics = await server.send("GET", "/metrics", bearer(TOKEN));
  expect([metrics.status, metrics.text]).toEqual([200, expect.stringContaining("appdb_control_request_seconds")]);
  expect((await server.send("GET", "/health", bearer(TOKEN))).json).toEqual({ status: "ok", problems: [PROBLEM] });
});
