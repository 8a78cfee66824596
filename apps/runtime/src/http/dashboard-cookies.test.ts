import type { RouteRequest } from "@appdb/engine/routes/route";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { type ServedRoutes, serveEndpoints } from "./serve-endpoints.ts";

/** One route that returns its request headers and sets two cookies. */
function endpoints(): ServedRoutes {
  return {
    services: ["api"],
    uses_python: false,
    answerQuery: async () => "[]",
    collect: async () => 0,
    routes: [
      {
        service: "api",
        method: "POST",
        path: "/docs",
        uses_python: false,
        takes_signal: false,
        handle: async ({ headers }: RouteRequest) => ({
          status: 200,
          headers: {},
          body: JSON.stringify(headers),
          more_headers: [
            ["set-cookie", "a=1"],
            ["Set-Cookie", "appdb.session_token=x"],
          ] as [string, string][],
        }),
      },
    ],
    openapi: () => ({}),
    checkHealth: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  } as unknown as ServedRoutes;
}

test("a handler neither sees nor sets a dashboard cookie", async () => {
  const options = { host: "127.0.0.1", port: 0, log: createSilentLog(), body_bytes: 1_000 };
  await using served = await serveEndpoints(endpoints(), options);
  const ask = async (cookie: string) => {
    const headers = { "content-type": "application/json", cookie };
    const answer = await fetch(`http://127.0.0.1:${served.port}/docs`, { method: "POST", body: "{}", headers });
    expect(answer.headers.getSetCookie()).toEqual(["a=1"]);
    return ((await answer.json()) as { cookie?: string }).cookie;
  };
  expect(await ask("a=1; appdb.session_token=secret; __Host-appdb.x=secret; b=2")).toBe("a=1; b=2");
  expect(await ask("__Secure-appdb.session_token=secret")).toBe(undefined);
});
