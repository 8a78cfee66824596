import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import type { Tx } from "../../database/pool.ts";

const PARTS: Readonly<Record<string, string>> = {
  files: "its project files",
  image: "its image",
  workers: "its number of workers",
  tables: "its tables",
  services: "its services",
};

/** The error of a service update planned against another version. Names the changes and the last operation. */
export async function servicesMoved(
  tx: Tx,
  databaseId: string,
  input: { readonly target: string; readonly app_file: string; readonly expected: string; readonly version: string },
): Promise<Error> {
  const { app_file: appFile, expected, target, version } = input;
  const before = readParts(expected);
  const moved = [...readParts(version)].filter(([name, value]) => before.get(name) !== value).map(([name]) => name);
  const words = moved.map((name) => PARTS[name] ?? name);
  const last = moved.includes("services") ? await findLast(tx, databaseId) : undefined;
  return appError("generation_moved", {
    detail: `Since this was planned, ${words.join(", ")} of ${target} changed${last === undefined ? "" : ` (${last})`}.`,
    hint: `See the current changes: cli service diff ${appFile} ${target}`,
    meta: { target, expected, version, moved },
  });
}

/** All parts of a malformed version count as changed. */
function readParts(version: string): Map<string, string> {
  return new Map(version.split(",").map((part) => [part.split(":")[0] ?? "", part]));
}

async function findLast(tx: Tx, databaseId: string): Promise<string | undefined> {
  const row = await tx
    .selectFrom("control.operations")
    .select(["actor", "kind", "target", "created_at"])
    .where("database_id", "=", databaseId)
    .where(sql<boolean>`kind like 'service.%'`)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && `${row.kind} of ${row.target} by ${row.actor} at ${row.created_at.toISOString()}`;
}
