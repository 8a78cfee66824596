import { randomBytes } from "node:crypto";
import type { Secret } from "@appdb/system/secret";
import { sql } from "kysely";
import type { ControlDatabase } from "../database/pool.ts";
import type { Envelope } from "../secrets/envelope.ts";

/** Cannot collide with a secret: those have names of environment variables. */
const NAME = "token of the pod";
const TOKEN_BYTES = 32;

export interface PodTokenDeps {
  readonly db: ControlDatabase;
  readonly envelope: Envelope;
}

/** The bearer token of a database's pod. Undefined before its first start. */
export async function findPodToken(deps: PodTokenDeps, databaseId: string): Promise<Secret | undefined> {
  const row = await deps.db
    .selectFrom("control.databases")
    .select(["org_id", "data_key_id", "sealed_pod_token"])
    .where("id", "=", databaseId)
    .executeTakeFirst();
  if (row === undefined || row.data_key_id === null || row.sealed_pod_token === null) return undefined;
  const sealed = { data_key_id: row.data_key_id, sealed: row.sealed_pod_token };
  return await deps.envelope.open(deps.db, { org_id: row.org_id, database_id: databaseId }, NAME, sealed);
}

/** Like `findPodToken`, but creates a missing token, once for concurrent calls. */
export async function ensurePodToken(deps: PodTokenDeps, database: { id: string; org_id: string }): Promise<Secret> {
  const stored = await findPodToken(deps, database.id);
  if (stored !== undefined) return stored;
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  await deps.db.transaction().execute(async (tx) => {
    const owner = { org_id: database.org_id, database_id: database.id };
    const { data_key_id: dataKeyId, sealed } = await deps.envelope.seal(tx, owner, NAME, token);
    await tx
      .updateTable("control.databases")
      .set({ data_key_id: dataKeyId, sealed_pod_token: sealed })
      .where("id", "=", database.id)
      .where(sql<boolean>`sealed_pod_token is null`)
      .execute();
  });
  const createdToken = await findPodToken(deps, database.id);
  if (createdToken === undefined) throw new Error("A database was removed during its pod's start.");
  return createdToken;
}
