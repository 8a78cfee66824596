import { databaseUriOf } from "@appdb/contract/control/resource-names";

/** How `cli secret` is told whose secret is meant: a database's address, or the organization's name. */
export function secretScope(org: string, database: string | undefined): string {
  return database === undefined ? org : databaseUriOf(org, database);
}
