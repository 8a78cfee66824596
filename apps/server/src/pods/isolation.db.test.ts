import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claimPodsHome } from "../reconciler/reconciler.ts";
import { openServer } from "../testing/open-server.ts";
import { makePeople } from "../testing/people.ts";
import { isolationReason, recordIsolation } from "./isolation.ts";

test("pods must stay isolated, and must be isolated with a second organization", async () => {
  await using server = await openServer();
  const { db } = server.deps;
  const { home } = server;
  expect(await isolationReason(db, home)).toBeUndefined();
  // adds a second organization
  await makePeople(server);
  expect(await isolationReason(db, home)).toBe("it has 2 organizations");
  // a home of version 0.8.0
  mkdirSync(join(home, "server/pods/.users"), { recursive: true });
  expect(await isolationReason(db, home)).toBe("it has 2 organizations");
  writeFileSync(join(home, "server/pods/.users/200000"), "");
  expect(await isolationReason(db, home)).toBe("its pods were isolated before");
  expect(await isolationReason(db, join(home, "other"))).toBe("it has 2 organizations");
  await claimPodsHome(server.deps, home);
  await recordIsolation(db);
  expect(await isolationReason(db, join(home, "other"))).toBe("its pods were isolated before");
});
