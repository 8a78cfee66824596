import type { RecordEvent } from "../../audit/event.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { requireRecentProof } from "../../identity/second-factor/recent-proof.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { createKey } from "./create-key.ts";
import { deleteKey } from "./delete-key.ts";
import { listKeys } from "./keys-store.ts";
import { rotateKey } from "./rotate-key.ts";

export interface KeyRoutesDeps {
  readonly config: Pick<ServerConfig, "identity">;
  readonly db: ControlDatabase;
  readonly recordEvent: RecordEvent;
}

export function addKeyRoutes(routes: ControlRoutes, deps: KeyRoutesDeps): void {
  const { db, recordEvent, config } = deps;
  const { confirm_s: confirmS } = config.identity;
  routes.add("keyList", async ({ org, query }) => listKeys(db, org.id, query));
  routes.change("keyCreate", async (call, tx) => {
    const { grants } = call.body;
    // this access would outlast the session
    const isStrong = grants.length === 0 || grants.some((grant) => !grant.startsWith("access:"));
    if (isStrong) await requireRecentProof(tx, call.principal, confirmS);
    return await createKey({ tx, recordEvent }, call, call.body);
  });
  routes.change("keyDelete", async (call, tx) => deleteKey({ tx, recordEvent }, call, call.params.name));
  routes.change("keyRotate", async (call, tx) => {
    await requireRecentProof(tx, call.principal, confirmS);
    return await rotateKey({ tx, recordEvent }, call, { name: call.params.name, overlap_s: call.body.overlap_s });
  });
}
