import type { ServerDeps } from "../../compose.ts";
import type { ControlRoutes } from "../../http/checked-route.ts";
import { createKey } from "./create-key.ts";
import { deleteKey } from "./delete-key.ts";
import { rotateKey } from "./rotate-key.ts";
import { listKeys } from "./store.ts";

export function addKeyRoutes(routes: ControlRoutes, deps: Pick<ServerDeps, "db" | "recordEvent">): void {
  const { db, recordEvent } = deps;
  routes.add("keyList", async ({ org, query }) => listKeys(db, org.id, query));
  routes.change("keyCreate", async (call, tx) => createKey({ tx, recordEvent }, call, call.body));
  routes.change("keyDelete", async (call, tx) => deleteKey({ tx, recordEvent }, call, call.params.name));
  routes.change("keyRotate", async (call, tx) =>
    rotateKey({ tx, recordEvent }, call, { name: call.params.name, overlap_s: call.body.overlap_s }),
  );
}
