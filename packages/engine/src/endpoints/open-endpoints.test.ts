import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { type RouteAnswer, wholeText } from "../answers/answers.ts";
import type { CompiledRoute } from "../routes/route.ts";
import { withBound } from "./open-endpoints.ts";

test("requests above a route's limit are refused at once", async () => {
  const ends: ((answer: RouteAnswer) => void)[] = [];
  const route: CompiledRoute = {
    service: "desk",
    method: "GET",
    path: "/slow",
    uses_python: false,
    takes_signal: false,
    handle: () => new Promise((resolve) => ends.push(resolve)),
  };
  const bounded = withBound(route, 2, createSilentLog());
  const ask = () => bounded.handle({ body: "", headers: {}, id: "r1" });

  const [first, second] = [ask(), ask()];
  const refused = await ask();
  expect(ends.length).toBe(2);
  expect(refused).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
  expect(JSON.parse(wholeText(refused))).toMatchObject({
    code: "overloaded",
    detail: "2 requests to GET /slow are already in progress, the maximum of one route. Nothing was done.",
    hint: expect.stringContaining("SERVICE_ROUTE_REQUESTS"),
    meta: { route: "GET /slow", limit: "route_requests", value: 2 },
  });

  ends[0]?.({ status: 200, headers: {}, body: "done" });
  expect((await first).status).toBe(200);
  const third = ask();
  for (const end of ends.slice(1)) end({ status: 200, headers: {}, body: "" });
  expect((await Promise.all([second, third])).map(({ status }) => status)).toEqual([200, 200]);
});
