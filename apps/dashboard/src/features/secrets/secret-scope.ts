import { databaseUriOf } from "@appdb/contract/control/resource-names";

/** The scope argument of `cli secret`: a database's address, or the organization's name. */
export function secretScope(org: string, database: string | undefined): string {
  return database === undefined ? org : databaseUriOf(org, database);
}
