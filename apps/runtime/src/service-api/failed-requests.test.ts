import { appError } from "@appdb/contract/errors";
import { answerError } from "@appdb/engine/answers/answers";
import { createSilentLog } from "@appdb/testkit/silent-log";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { sendAnswer } from "../http/send-answer.ts";
import { LinkCarrier } from "./carry-link.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { TrafficCounter } from "./traffic-counter.ts";
import { watchRequests } from "./watch-requests.ts";

const LABELS = 'method="POST",route="/docs"';
const raised = () =>
  answerError(appError("function_failed", { detail: "RuntimeError: no quota" }), "r-1", createSilentLog());

function openDeps() {
  const metrics = createRequestMetrics(() => 0);
  const traffic = new TrafficCounter({ now: () => 0 });
  return { metrics, traffic, log: createSilentLog(), logRequest: () => undefined };
}

function expectFailed(text: string): void {
  expect(text).toContain(`appdb_requests_total{${LABELS},status="400"} 1`);
  expect(text).toContain(`appdb_requests_failed_total{${LABELS}} 1`);
}

test("counts a request whose function raised as failed over HTTP", async () => {
  const deps = openDeps();
  const server = Fastify();
  watchRequests(server, { ...deps, keys: { check: () => ({ id: "k", name: "form", reads_media: true }) } });
  server.post("/docs", (request, reply) => {
    reply.hijack();
    const { log } = deps;
    const draining = new AbortController().signal;
    void sendAnswer({ request: request.raw, response: reply.raw, id: "r-1", log, cors: null, draining }, raised());
  });
  const url = await server.listen({ port: 0, host: "127.0.0.1" });
  try {
    const answer = await fetch(`${url}/docs`, { method: "POST" });
    expect([answer.status, answer.headers.get("x-failed")]).toEqual([400, "function_failed"]);
    expect(await answer.json()).toMatchObject({ code: "function_failed" });
  } finally {
    await server.close();
  }
  expectFailed(deps.metrics.print().text);
});

test("counts a request whose function raised as failed over the link", async () => {
  const deps = openDeps();
  const route = {
    ...({
      service: "ingest",
      method: "POST",
      path: "/docs",
      uses_python: true,
      takes_signal: false,
    } as const),
    handle: async () => raised(),
  };
  const listen = () => expect.unreachable("the route answers");
  const carrier = new LinkCarrier([route], { ...deps, body_bytes: 1_000_000, prefix: "/ingest", listen });
  const request = {
    method: "POST",
    path: "/docs",
    search: "",
    headers: { "content-type": "application/json" },
    body: Buffer.from("{}"),
    id: "r-1",
    caller: { id: "k", name: "form", reads_media: true },
    host: "x",
    client_address: "127.0.0.1",
    is_secure: false,
  };
  const answer = await carrier.handle(request, { signal: new AbortController().signal, is_gone: false });
  expect(answer.headers).toContain("x-failed");
  expectFailed(deps.metrics.print().text);
});
