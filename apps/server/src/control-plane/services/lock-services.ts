import type { Manifest } from "@appdb/contract/manifest";
import type { Selectable } from "kysely";
import { sql } from "kysely";
import type { Tx } from "../../database/pool.ts";
import type { Tables } from "../../database/tables.ts";

/** A service with its desired release. */
export type LockedService = Pick<
  Selectable<Tables["control.services"]>,
  "id" | "database_id" | "name" | "state" | "desired" | "observed" | "generation" | "is_pruned"
> & {
  readonly tree: string | null;
  readonly environment: string | null;
  readonly app_file: string;
  readonly manifest: Manifest;
  readonly workers: number;
};

/** The services of a database, by name, for a plan. */
export async function readServices(db: Pick<Tx, "selectFrom">, databaseId: string): Promise<LockedService[]> {
  return await selectRows(db, databaseId).execute();
}

/** One service, not locked, or undefined. */
export async function readService(
  db: Pick<Tx, "selectFrom">,
  databaseId: string,
  name: string,
): Promise<LockedService | undefined> {
  return await selectRows(db, databaseId).where("s.name", "=", name).executeTakeFirst();
}

/** The services of a database, locked until the transaction ends. Lock the database first if you lock both. */
export async function lockServices(tx: Tx, databaseId: string): Promise<LockedService[]> {
  return await selectRows(tx, databaseId).forUpdate("s").execute();
}

/** One service, locked, or undefined. */
export async function lockService(tx: Tx, databaseId: string, name: string): Promise<LockedService | undefined> {
  return await selectRows(tx, databaseId).where("s.name", "=", name).forUpdate("s").executeTakeFirst();
}

function selectRows(db: Pick<Tx, "selectFrom">, databaseId: string) {
  return db
    .selectFrom("control.services as s")
    .innerJoin("control.releases as r", (join) =>
      join.onRef("r.service_id", "=", "s.id").on(sql<boolean>`r.number = (s.desired ->> 'release')::int`),
    )
    .select(["s.id", "s.database_id", "s.name", "s.state", "s.desired", "s.observed", "s.generation", "s.is_pruned"])
    .select(["r.tree", "r.environment", "r.app_file", "r.manifest", "r.workers"])
    .where("s.database_id", "=", databaseId)
    .orderBy("s.name");
}
