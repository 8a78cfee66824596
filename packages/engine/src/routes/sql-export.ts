import { AppError, appError } from "@appdb/contract/errors";
import type { ManifestRowRoute, ManifestSqlExport, ManifestUpdateRoute } from "@appdb/contract/manifest";
import { plainAddress } from "@appdb/contract/media";
import { type Row, type RowLayout, type Slot, slotsNamed } from "../compute/row-layout.ts";
import { isMedia } from "../kinds/media.ts";
import { toSqlText } from "../kinds/values.ts";
import { type SqlConnection, SqlError } from "../ports.ts";
import { quoteIdent } from "../sql/quote.ts";
import { checkTarget, describeTarget } from "./export-target.ts";

/** Returns the database of an export; one instance per database. @throws config_invalid without that database's
 *  message */
export type ConnectExport = (to: ManifestSqlExport["db_connect"]) => SqlConnection;

export interface SqlExport {
  /** Checks that the target's table accepts the route's outputs. @throws export_refused, database_unavailable */
  check(): Promise<void>;
  /** Writes the outputs of a stored row. @throws export_failed */
  write(row: Row): Promise<void>;
}

/** Compiles the export of a route; null if it has none. */
export function compileExport(
  connect: ConnectExport | undefined,
  layout: RowLayout,
  route: ManifestRowRoute | ManifestUpdateRoute,
): SqlExport | null {
  const { export_sql: target } = route;
  if (target == null) return null;
  const slots = slotsNamed(layout, route.outputs);
  let statement: string | undefined;
  const sql = (): SqlConnection => {
    if (connect === undefined) throw new TypeError("Exports cannot connect here.");
    return connect(target.db_connect);
  };
  const prepare = async (): Promise<string> => {
    const found = await describeTarget(sql(), target);
    checkTarget(route, target, found, slots);
    return buildExport(target, found?.place ?? "", slots, found?.key ?? []);
  };
  return {
    async check() {
      statement = await prepare();
    },
    async write(row) {
      try {
        statement ??= await prepare();
        const values = slots.map((slot) => textOf(slot, row));
        const { row_count: rowCount } = await sql().query({ text: statement, values });
        if (rowCount === 0 && target.method === "update") throw noSuchRow();
      } catch (error) {
        throw failed(target, layout, row, error);
      }
    },
  };
}

function textOf(slot: Slot, row: Row): string | null {
  const value = row[slot.at] ?? null;
  if (value === null) return null;
  return isMedia(slot.type.kind) ? plainAddress(String(value)) : toSqlText(slot.type, value);
}

/** Values are sent as text, which PostgreSQL parses as the type of the target's column. */
function buildExport(
  { method }: ManifestSqlExport,
  place: string,
  slots: readonly Slot[],
  key: readonly string[],
): string {
  const numbered = slots.map(({ name }, at) => ({ name, column: quoteIdent(name), value: `$${at + 1}` }));
  const others = numbered.filter(({ name }) => !key.includes(name));
  if (method === "update") {
    const set = others.map(({ column, value }) => `${column} = ${value}`).join(", ");
    const keys = numbered.filter(({ name }) => key.includes(name));
    return `update ${place} set ${set} where ${keys.map(({ column, value }) => `${column} = ${value}`).join(" and ")}`;
  }
  const columns = numbered.map(({ column }) => column).join(", ");
  const insert = `insert into ${place} (${columns}) values (${numbered.map(({ value }) => value).join(", ")})`;
  if (method === "insert") return insert;
  const set = others.map(({ column }) => `${column} = excluded.${column}`).join(", ");
  return `${insert} on conflict (${key.map(quoteIdent).join(", ")}) do ${set === "" ? "nothing" : `update set ${set}`}`;
}

function noSuchRow(): Error {
  return new SqlError("no row has this key", { sqlstate: "02000" });
}

/** The client must know that the row was stored. The reason never contains the other database's message. */
function failed({ table, method }: ManifestSqlExport, layout: RowLayout, row: Row, error: unknown): Error {
  const sqlstate = error instanceof SqlError ? error.sqlstate : undefined;
  return appError("export_failed", {
    detail: `The row was stored, but ${method} into ${table} of the other database failed: ${reasonOf(error)}.`,
    hint: "Do not send the row again: it is stored. Repair the other database, and write this row to it.",
    meta: {
      stored: true,
      table: layout.table.name,
      key: keyOf(layout, row),
      ...(sqlstate === undefined ? {} : { sqlstate }),
    },
    cause: error instanceof SqlError ? new Error(`SQLSTATE ${error.sqlstate}`) : undefined,
  });
}

/** Identifies the row: its primary key, or the substitute for one. */
function keyOf({ table, index, identity, slots }: RowLayout, row: Row): Readonly<Record<string, string>> {
  const names = table.primary_key.length > 0 ? table.primary_key : [slots[identity]?.name ?? ""];
  return Object.fromEntries(names.map((name) => [name, String(row[index.get(name) ?? identity] ?? "")]));
}

function reasonOf(error: unknown): string {
  if (error instanceof SqlError) {
    if (error.sqlstate === "23505") return "it already has a row with this key";
    if (error.sqlstate === "02000") return "it has no row with this key";
    if (error.sqlstate === "42501") return "its role has no permission to write";
    return `SQLSTATE ${error.sqlstate}`;
  }
  if (!(error instanceof AppError)) return "it could not be reached";
  if (error.code === "commit_unknown") return "the connection broke, so the outcome is unknown";
  return error.code === "export_refused" || error.code === "config_invalid"
    ? error.message.replace(/\.$/, "")
    : "it does not answer";
}
