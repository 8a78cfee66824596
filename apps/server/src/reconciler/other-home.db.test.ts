import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVER_PATHS } from "../config/config.ts";
import { openServer } from "../testing/open-server.ts";
import { openTestReconciler } from "../testing/test-reconciler.ts";

test("a server whose home lost its id leaves databases alone, and its health is failing", async () => {
  await using server = await openServer();
  const setup = await openTestReconciler(server);
  const first = await setup.start();
  expect(first.problems()).toEqual([]);
  await first.stop("end pods");
  rmSync(join(server.home, SERVER_PATHS.homeId));
  await using second = await setup.start();
  expect(second.problems()).toMatchObject([{ code: "home_unknown" }]);
  server.deps.problems.push(() => second.problems());
  expect((await server.send("GET", "/health")).status).toBe(503);
});
