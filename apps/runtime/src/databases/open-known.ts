import { appError } from "@appdb/contract/errors";
import { type LocalTarget, parseLocalTarget, type Target } from "@appdb/contract/names";
import type { OpenDatabase, OpenDatabases } from "./open-databases.ts";

/** A target with an open database, where unfinished jobs continue. */
export interface OpenTarget extends Pick<OpenDatabase, "sql" | "hold"> {
  /** Prefix of the paths of its tables: `main`, `cloud://acme:main`. */
  readonly name: string;
  readonly target: Target;
}

/** Opens a target by its text. @throws table_not_found, invalid_target */
export type OpenByText = (text: string) => Promise<OpenTarget>;

/** Opens the database of a target, which an update must have created. @throws table_not_found, invalid_target */
export async function openKnown(
  { databases }: { readonly databases: OpenDatabases },
  text: string,
): Promise<OpenDatabase & { readonly target: LocalTarget }> {
  const target = parseLocalTarget(text);
  const database = await databases.find(target.database);
  if (database !== undefined) return { ...database, target };
  throw appError("table_not_found", {
    detail: `There is no database ${target.database}.`,
    hint: "List those of this machine: cli db list --local",
    meta: { target: target.text },
  });
}
