import { HOSTED_SCHEME } from "@appdb/contract/names";
import type { RecordEvent } from "../../audit/event.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { CallOrg, ControlRoutes } from "../../requests/checked-route.ts";
import type { Envelope } from "../../secrets/envelope.ts";
import { listSecrets } from "../../secrets/secret-store.ts";
import { findDatabase } from "../databases/databases-store.ts";
import { deleteSecret, type SecretScope, setSecret } from "./set-secret.ts";

export interface SecretRouteDeps {
  readonly db: ControlDatabase;
  readonly envelope: Envelope;
  readonly recordEvent: RecordEvent;
}

/** Answers contain names and times. No route reads a value back. */
export function addSecretRoutes(routes: ControlRoutes, deps: SecretRouteDeps): void {
  const { db } = deps;
  routes.add("secretList", async ({ org, query }) => listSecrets(db, ofOrg(org), query));
  routes.change("secretSet", async (call, tx) =>
    setSecret({ ...deps, tx }, call, ofOrg(call.org), { name: call.params.name, value: call.body.value }),
  );
  routes.change("secretDelete", async (call, tx) =>
    deleteSecret({ ...deps, tx }, call, ofOrg(call.org), call.params.name),
  );
  routes.add("databaseSecretList", async ({ org, params, query }) =>
    listSecrets(db, await ofDatabase(db, org, params.db), query),
  );
  routes.change("databaseSecretSet", async (call, tx) =>
    setSecret({ ...deps, tx }, call, await ofDatabase(tx, call.org, call.params.db), {
      name: call.params.name,
      value: call.body.value,
    }),
  );
  routes.change("databaseSecretDelete", async (call, tx) =>
    deleteSecret({ ...deps, tx }, call, await ofDatabase(tx, call.org, call.params.db), call.params.name),
  );
}

function ofOrg(org: CallOrg): SecretScope {
  return { org_id: org.id, database_id: null, uri: `${HOSTED_SCHEME}${org.name}` };
}

async function ofDatabase(db: ControlDatabase | Tx, org: CallOrg, name: string): Promise<SecretScope> {
  const { id, uri } = await findDatabase(db, org, name);
  return { org_id: org.id, database_id: id, uri };
}
