import type { HttpHead } from "@appdb/contract/worker-protocol";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import { type InnerAnswer, type InnerRoutes, openInnerRoutes } from "./app-routes.ts";

const HEAD: HttpHead = {
  method: "POST",
  scheme: "http",
  path: "/rows",
  root_path: "",
  search: "",
  params: {},
  client: null,
  id: "req-1",
  headers: [],
};

/** Calls a route as an application object does. */
async function ask(
  route: Partial<CompiledRoute>,
  head: Partial<HttpHead>,
  data: Uint8Array,
  outer: Parameters<InnerRoutes["answer"]>[3] = {},
): Promise<InnerAnswer> {
  const whole: CompiledRoute = {
    service: "api",
    method: "POST",
    path: "/rows",
    uses_python: false,
    takes_signal: false,
    handle: async () => ({ status: 200, headers: {}, body: "{}" }),
    ...route,
  };
  const inside = openInnerRoutes([], (id) => (id === "api:0" ? whole : undefined), createSilentLog());
  return inside.answer("api:0", { ...HEAD, ...head }, data, outer);
}

test("the route gets the body bytes as sent", async () => {
  let body: RouteRequest["body"] = "";
  const sent = Buffer.from([0x22, 0xff, 0x22]);
  const handle: CompiledRoute["handle"] = async (request) => {
    body = request.body;
    return { status: 200, headers: {}, body: "{}" };
  };
  await ask({ handle }, {}, sent);
  expect(body).toEqual(sent);
});

test("a route that takes a signal sees that its caller disconnected", async () => {
  const seen: (AbortSignal | undefined)[] = [];
  const handle: CompiledRoute["handle"] = async ({ signal }) => {
    seen.push(signal);
    return { status: 200, headers: {}, body: "{}" };
  };
  const { signal } = new AbortController();
  await ask({ handle, takes_signal: true }, {}, Buffer.alloc(0), { signal });
  await ask({ handle, takes_signal: false }, {}, Buffer.alloc(0), { signal });
  expect(seen).toEqual([signal, undefined]);
});

test("a route is called as the caller of the client's request", async () => {
  const seen: RouteRequest["caller"][] = [];
  const handle: CompiledRoute["handle"] = async ({ caller }) => {
    seen.push(caller);
    return { status: 200, headers: {}, body: "{}" };
  };
  const caller = { id: "k1", reads_media: false };
  await ask({ handle }, { headers: [["x-reads-media", "true"]] }, Buffer.alloc(0), { caller });
  await ask({ handle }, {}, Buffer.alloc(0));
  expect(seen).toEqual([caller, undefined]);
});

test("refuses a live query, because an endless response cannot be passed on", async () => {
  let isAsked = false;
  const handle: CompiledRoute["handle"] = async () => {
    isAsked = true;
    return { status: 200, headers: {}, body: "{}" };
  };
  const headers: HttpHead["headers"] = [["accept", "text/event-stream"]];
  const answer = await ask({ has_events: true, method: "GET", handle }, { headers }, Buffer.alloc(0));
  expect(answer.status).toBe(422);
  expect(JSON.parse(Buffer.from(answer.data).toString())).toMatchObject({ code: "invalid_request", instance: "req-1" });
  expect(isAsked).toBe(false);
});

test("a response that breaks off becomes an error", async () => {
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from("[");
    throw new Error("the disk is gone");
  };
  const answer = await ask({ handle: async () => ({ status: 200, headers: {}, body: broken() }) }, {}, Buffer.alloc(0));
  expect(answer.status).toBe(500);
  expect(Buffer.from(answer.data).toString()).not.toContain("disk");
});

test("a route that the running service lacks is named, with what to do", async () => {
  const inside = openInnerRoutes([], () => undefined, createSilentLog());
  const { status, data } = await inside.answer("table insert docs", HEAD, Buffer.alloc(0));
  const problem = JSON.parse(Buffer.from(data).toString());
  expect([status, problem.code]).toEqual([404, "not_found"]);
  expect(problem.detail).toContain("'table insert docs'");
  expect(problem.hint).toContain("cli service update");
});
