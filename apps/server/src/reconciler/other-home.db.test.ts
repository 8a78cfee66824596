import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVER_PATHS } from "../config/config.ts";
import { openServer } from "../testing/open-server.ts";
import { openReconcilerStage } from "../testing/reconciler-stage.ts";

test("a server whose home lost its id leaves databases alone, and its health is failing", async () => {
  await using server = await openServer();
  const stage = await openReconcilerStage(server);
  const first = await stage.start();
  expect(first.problems()).toEqual([]);
  await first.stop("end pods");
  rmSync(join(server.home, SERVER_PATHS.homeId));
  await using second = await stage.start();
  expect(second.problems()).toMatchObject([{ code: "home_unknown" }]);
  server.deps.problems.push(() => second.problems());
  expect((await server.send("GET", "/health")).status).toBe(503);
});
