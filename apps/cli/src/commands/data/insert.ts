import type { OnError } from "@appdb/contract/jobs";
import { parseTablePath } from "@appdb/contract/names";
import type { Written } from "@appdb/contract/routes/data-writes";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { text } from "../parameters.ts";
import { failedCells, ON_ERROR_FLAG, openTable, TABLE, whileWorking } from "./data-target.ts";
import { readRowFile } from "./read-rows.ts";
import { sendMedia } from "./send-media.ts";

interface Flags extends JsonFlag {
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
    ["cat rows.json | cli insert cloud://acme:main/docs - --json", "a JSON array from another program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        TABLE,
        { brief: "The file: .jsonl, .json or .csv; - is the input", placeholder: "FILE", parse: text },
      ],
    },
    flags: { onError: ON_ERROR_FLAG },
  },
  run: async (ctx, { json, onError }, named, file) => {
    const { data, path, text: whole } = await openTable(ctx, named);
    const table = await data.table(path);
    const given = await readRowFile(ctx, file, { path: whole, table });
    const { target } = parseTablePath(named);
    const lines = await sendMedia(ctx, given, { json, table, target });
    const rows = lines.filter((line) => line.trim() !== "").length;
    const send = () => data.insert(path, new TextEncoder().encode(`${lines.join("\n")}\n`), onError);
    return { path: whole, ...(await whileWorking(ctx.out, json, `inserting ${count(rows, "row")}`, send)) };
  },
  render: ({ errors, inserted, path }, out) => {
    out.line(`${count(inserted, "row")} inserted into ${path}`);
    failedCells(out, errors, path);
  },
});
