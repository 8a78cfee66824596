import { EventEmitter, once } from "node:events";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, expect, test } from "vitest";
import { BodyBytes } from "../requests/body-bytes.ts";
import { CallerLimits } from "../requests/caller-limits.ts";
import { createHttpServer, type HttpDeps } from "./server.ts";

const ORG = { id: "org-1", name: "acme", role: "owner" } as const;
const PRINCIPAL = { kind: "user", user_id: "ann", key: null, credential: "bearer" };

const bodies = new BodyBytes();
const app = createHttpServer({
  log: createSilentLog(),
  site: { url: "http://127.0.0.1" },
  trusted_proxies: [],
  identity: { resolve: async () => ({ principal: PRINCIPAL }) },
  findOrg: async () => ORG,
  limits: new CallerLimits({ rate: 0, max_open: 10 }),
  bodies,
} as unknown as HttpDeps);
afterEach(() => app.close());

test("a parsed body counts for its caller only, until its answer", async () => {
  const steps = new EventEmitter();
  const begun = once(steps, "begun");
  const config = { permission: "database.update", control: "tableChange" } as const;
  app.post("/v1/orgs/:org/changes", { config, bodyLimit: 32_000_000 }, async () => {
    const ended = once(steps, "ended");
    steps.emit("begun");
    await ended;
    return {};
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const body = `{${" ".repeat(30_000_000)}}`;
  const headers = { "content-type": "application/json" };
  const answer = fetch(`${url}/v1/orgs/acme/changes`, { method: "POST", headers, body });
  await begun;
  bodies.begin("ben", ORG.id).add(40_000_000);
  const own = bodies.begin("ann", "org-2");
  expect(() => own.add(20_000_000)).toThrow(/caller's open requests/);
  steps.emit("ended");
  expect((await answer).status).toBe(200);
  await eventually(async () => own.add(20_000_000));
});
