import { isBrokenJson, jsonOf } from "@appdb/contract/clients/typed-values";
import type { Expr } from "@appdb/contract/expressions";
import type { OnError } from "@appdb/contract/jobs";
import { parseTablePath } from "@appdb/contract/names";
import type { DataTable } from "@appdb/contract/routes/data-api";
import type { Written } from "@appdb/contract/routes/data-writes";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { text, usageError } from "../parameters.ts";
import {
  chosenColumns,
  failedCells,
  keysOf,
  ON_ERROR_FLAG,
  openTable,
  TABLE_AND_KEY,
  tableToWrite,
  WHERE_FLAG,
  whileWorking,
} from "./data-target.ts";
import { nameRows } from "./name-rows.ts";
import { type MediaRows, sendMedia } from "./send-media.ts";

interface Flags extends JsonFlag {
  readonly onError: OnError;
  readonly where?: string;
  readonly set: readonly string[];
}

interface Updated extends Written {
  readonly path: string;
}

export const update = defineCommand<Flags, [path: string, ...key: string[]], Updated>({
  brief: "Change rows of a table",
  examples: [
    ["cli update main/docs 42 --set title='New title'", "the row with the key 42"],
    [`cli update main/docs --where "score < 0.5" --set score=0.5 --set tag=low`, "all rows of a condition"],
    ["cli update cloud://acme:main/docs --where true --set tag= --json", "no value in all rows, for a program"],
  ],
  parameters: {
    positional: {
      kind: "array",
      parameter: TABLE_AND_KEY,
      minimum: 1,
    },
    flags: {
      where: WHERE_FLAG,
      set: {
        kind: "parsed",
        parse: text,
        variadic: true,
        brief: "A new value; empty is null where the column allows it. Repeatable",
        placeholder: "column=value",
      },
      onError: ON_ERROR_FLAG,
    },
  },
  run: async (ctx, { json, onError, set, where }, named, ...key) => {
    checkSelection("update", named, key, where);
    const { data, path, text: whole } = await openTable(ctx, named);
    const table = await tableToWrite(data, path);
    const values = set.map((item) => assignment(table, item, whole));
    const keys = where === undefined ? keysOf(table, key, whole) : [];
    const { target } = parseTablePath(named);
    const rows = keys.map((one) => rowText(one, values));
    const body =
      where === undefined
        ? `{"rows":[${(await withMedia(ctx, rows, { json, placeOf: (name) => `--set ${name}`, table, target })).join(",")}],"on_error":"${onError}"}`
        : JSON.stringify({
            where,
            set: Object.fromEntries(values.map(([name, value]) => [name, literalOf(value)])),
            on_error: onError,
          });
    const send = () => nameRows(data.update(path, body), { keys, table, path: whole });
    const written = await whileWorking(ctx.out, json, `updating ${whole}`, send);
    return { path: whole, ...written };
  },
  render: ({ errors, path, updated }, out) => {
    out.line(`${count(updated, "row")} of ${path} updated`);
    failedCells(out, errors, path);
  },
});

/** Rows are named by a key or by a condition. @throws usage */
export function checkSelection(verb: string, path: string, key: readonly string[], where: string | undefined): void {
  if (key.length > 0 !== (where !== undefined)) return;
  throw usageError(
    key.length > 0 ? "A key and --where cannot be used together." : "Neither a key nor --where names the rows.",
    `Name the rows: cli ${verb} ${path} --where "score < 0.5"`,
  );
}

function assignment(table: DataTable, item: string, path: string): readonly [name: string, json: string] {
  const at = item.indexOf("=");
  if (at < 1) throw usageError(`--set ${item} has no value.`, "Write the column, =, and the value: --set title=x");
  const [column] = chosenColumns(table, item.slice(0, at), path);
  if (column === undefined) throw new TypeError("A column was not found.");
  if (column.is_key) {
    throw usageError(
      `'${column.name}' is the key of ${path}, which cannot be set.`,
      "Insert the row with its new key, then delete this one.",
    );
  }
  const cell = { text: item.slice(at + 1), is_quoted: false };
  if (isBrokenJson(column, cell)) {
    throw usageError(
      `${JSON.stringify(cell.text.slice(0, 80))} is not JSON, which ${column.name} takes.`,
      `Write a text with quotes: --set '${column.name}="text"'`,
    );
  }
  return [column.name, jsonOf(column, cell)];
}

/** The rows, with addresses in place of files of this machine. @throws media_not_found */
async function withMedia(ctx: Context, rows: readonly string[], of: MediaRows): Promise<readonly string[]> {
  const sent: string[] = [];
  for await (const some of sendMedia(ctx, oneOf(rows), of)) sent.push(...some);
  return sent;
}

async function* oneOf<T>(value: T): AsyncGenerator<T, void> {
  yield value;
}

function rowText(key: readonly (readonly [string, string])[], values: readonly (readonly [string, string])[]): string {
  return `{${[...key, ...values].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

/** A JSON text as a constant. The server converts it to the type of the column. */
function literalOf(json: string): Expr {
  const value: unknown = JSON.parse(json);
  if (typeof value === "string") return { node: "literal", value, type: { kind: "string" }, nullable: false };
  if (typeof value === "boolean") return { node: "literal", value, type: { kind: "bool" }, nullable: false };
  if (value === null) return { node: "literal", value, type: { kind: "string" }, nullable: true };
  // the text has all digits of a number
  return { node: "literal", value: json, type: { kind: "json" }, nullable: false };
}
