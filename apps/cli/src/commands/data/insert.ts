import { AppError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import { parseTablePath } from "@appdb/contract/names";
import type { DataTable } from "@appdb/contract/routes/data-api";
import type { Written } from "@appdb/contract/routes/data-writes";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { readRowFile } from "../../row-files/read-rows.ts";
import { parseFormat, type RowFormat } from "../../row-files/row-formats.ts";
import { text } from "../parameters.ts";
import { failedCells, ON_ERROR_FLAG, openTable, TABLE, tableToWrite, whileWorking } from "./data-target.ts";
import { RowBody } from "./row-body.ts";
import { sendMedia } from "./send-media.ts";

interface Flags extends JsonFlag {
  readonly format?: RowFormat;
  readonly onError: OnError;
}

interface Inserted extends Written {
  readonly path: string;
}

export const insert = defineCommand<Flags, [path: string, file: string], Inserted>({
  brief: "Insert the rows of a file into a table",
  examples: [
    ["cli insert main/docs rows.jsonl", "JSON objects, one per line: all rows or none"],
    ["cli insert main/docs rows.csv --on-error ignore", "CSV with a header; a computed cell that fails is null"],
    ["cli insert main/docs rows.parquet", "Parquet, a row group in memory at a time"],
    ["cat rows.json | cli insert cloud://acme:main/docs - --json", "a JSON array from another program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        TABLE,
        { brief: "The file: .jsonl, .json, .csv, .tsv or .parquet; - is the input", placeholder: "FILE", parse: text },
      ],
    },
    flags: {
      format: {
        kind: "parsed",
        parse: parseFormat,
        optional: true,
        brief: "csv, jsonl or parquet; by default that of the file's name, otherwise of its content",
        placeholder: "format",
      },
      onError: ON_ERROR_FLAG,
    },
  },
  run: async (ctx, { format, json, onError }, named, file) => {
    const { data, path, text: whole } = await openTable(ctx, named);
    const table = await tableToWrite(data, path);
    let countsRows = false;
    const countRows = () => {
      countsRows = true;
    };
    const given = readRowFile(ctx, file, { path: whole, table, format, countRows });
    const { target } = parseTablePath(named);
    const body = new RowBody(sendMedia(ctx, given, { json, table, target }));
    const explain = (error: unknown) => {
      if (error instanceof AppError && error.code === "interrupted") return interrupted(whole, error);
      return inWordsOf(table, whole, countsRows ? byRows(error) : error);
    };
    const send = () => data.insert(path, body, onError).catch((error: unknown) => body.reject(explain(error)));
    return { path: whole, ...(await whileWorking(ctx.out, json, "inserting rows", send)) };
  },
  render: ({ errors, inserted, path }, out) => {
    out.line(`${count(inserted, "row")} inserted into ${path}`);
    failedCells(out, errors, path);
  },
});

/** The server stores nothing when it loses its client, unless it was about to answer. */
function interrupted(path: string, cause: AppError): AppError {
  return new AppError("interrupted", {
    detail: "The command was interrupted. Either all rows are stored or none; most likely none.",
    hint: `See how many rows there are: ${commandLine(["count", path])}`,
    cause,
  });
}

/** A table takes rows like a route: an error names its columns. */
function inWordsOf(table: DataTable, path: string, error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, errors, hint, message, meta } = error;
  const told = (text: string) => text.replace("The route takes no field", `${path} has no column`);
  const columns = table.columns.filter(({ is_computed: isComputed }) => !isComputed).map(({ name }) => name);
  return new AppError(code, {
    detail: told(message),
    hint: hint?.startsWith("The route takes: ") ? `Its columns: ${columns.join(", ")}` : hint,
    meta,
    errors: errors?.map(({ detail, pointer }) => ({ detail: told(detail), pointer })),
    cause: error,
  });
}

/** The server counts lines. In a file without lines, these are rows. */
function byRows(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, errors, hint, message, meta } = error;
  const told = (text: string) => text.replace(/^Line (?=\d)/, "Row ");
  const fields = errors?.map(({ detail, pointer }) => ({ detail: told(detail), pointer }));
  return new AppError(code, { detail: told(message), hint, meta, errors: fields, cause: error });
}
