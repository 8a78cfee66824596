import { once } from "node:events";
import { type IncomingMessage, request as openRequest } from "node:http";
import { text } from "node:stream/consumers";
import { JSON_HEADERS } from "@appdb/engine/answers/answers";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedEndpoints, serveEndpoints } from "./serve-endpoints.ts";

let served: ServedEndpoints;

beforeAll(async () => {
  const route: CompiledRoute = {
    service: "api",
    method: "GET",
    path: "/items/{id}",
    uses_python: false,
    takes_signal: false,
    takes_any_body: true,
    handle: async ({ route, search }) => ({
      status: 200,
      headers: JSON_HEADERS,
      body: JSON.stringify([route?.path, route?.params, search]),
    }),
  };
  const endpoints = {
    services: ["api"],
    routes: [route],
    uses_python: false,
    openapi: () => ({}),
    answerQuery: async () => "[]",
    collect: async () => 0,
    checkHealth: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const log = createSilentLog();
  served = await serveEndpoints(endpoints, { host: "127.0.0.1", port: 0, log, body_bytes: 1_000 });
});

afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

/** Sends a request target unchanged, which fetch would not. */
async function ask(path: string, method = "GET"): Promise<unknown> {
  const request = openRequest({ host: served.address, port: served.port, path, method });
  request.end();
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  const body = JSON.parse(await text(answer));
  return answer.statusCode === 200 ? body : [answer.statusCode, body.detail];
}

test("uses the path of an absolute request target", async () => {
  expect(await ask("/items/a%20b?x=1")).toEqual(["/items/a%20b", { id: "a b" }, "x=1"]);
  expect(await ask("http://elsewhere.example/items/a%20b?x=1")).toEqual(["/items/a%20b", { id: "a b" }, "x=1"]);
  expect(await ask("HTTPS://elsewhere.example:81?q=/items/a")).toEqual([404, "There is nothing at /."]);
  expect(await ask("http:///items/a")).toEqual(["/items/a", { id: "a" }, ""]);
});

test("does not accept an asterisk as path", async () => {
  expect(await ask("*", "OPTIONS")).toEqual([404, "There is nothing at *."]);
});
