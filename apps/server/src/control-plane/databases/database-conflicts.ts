import { appError } from "@appdb/contract/errors";
import type { Tx } from "../../database/pool.ts";
import type { DatabaseRow } from "./databases-store.ts";

const MAX_SHOWN = 3;

const WORDS: Readonly<Record<string, string>> = {
  "database.provision": "created",
  "database.update": "updated",
  "database.build": "rebuilt",
  "database.start": "started",
  "database.stop": "stopped",
  "database.restart": "restarted",
  "database.retry": "tried again",
  "database.delete": "deleted",
  "database.undelete": "undeleted",
};

/** The error of a change planned against another generation. Names who did what since, from the operations. */
export async function staleGeneration(
  tx: Tx,
  uri: string,
  row: Pick<DatabaseRow, "id" | "generation"> | undefined,
  expected: number,
): Promise<Error> {
  const hint = `See the current changes: cli db diff ${uri}`;
  const meta = { uri, expected, generation: row?.generation ?? 0 };
  if (row === undefined) {
    return appError("generation_moved", {
      detail: `${uri} was at generation ${expected} when this was planned. It no longer exists.`,
      hint,
      meta,
    });
  }
  const since = Math.max(0, Math.min(MAX_SHOWN, row.generation - expected));
  const operations = await tx
    .selectFrom("control.operations")
    .select(["actor", "kind", "detail", "created_at"])
    .where("database_id", "=", row.id)
    .orderBy("id", "desc")
    .limit(since)
    .execute();
  const lines = operations.reverse().map(({ actor, created_at: createdAt, detail, kind }) => {
    const what = detail === null ? "" : ` (${detail})`;
    return `${actor} ${WORDS[kind] ?? "changed"} it at ${createdAt.toISOString()}${what}`;
  });
  const moves = lines.length === 0 ? "it was changed" : lines.join(", ");
  return appError("generation_moved", {
    detail: `${uri} is at generation ${row.generation}, and this was planned for ${expected}: since then ${moves}.`,
    hint,
    meta,
  });
}
