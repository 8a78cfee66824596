import { parseTarget } from "@appdb/contract/names";
import type { HistoryEntry } from "@appdb/contract/routes/table-changes";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { parseCountUpTo, text } from "../parameters.ts";
import { folderIn, openChanges } from "./changes.ts";

interface Flags extends JsonFlag {
  readonly number: number;
}

interface History {
  readonly entries: readonly HistoryEntry[];
}

const DEFAULT = 20;
const MAX = 1_000;

export const history = defineCommand<Flags, [path: string], History>({
  brief: "List the changes of a table, of a folder, or of all tables",
  examples: [
    ["cli history main/docs", "the changes of a table, the newest first"],
    ["cli history main/reports", "of the tables of a folder"],
    ["cli history main -n 50", "of all tables"],
    ["cli history cloud://acme:main/docs --json", "of a hosted table, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The database, folder or table: main, main/docs", placeholder: "PATH", parse: text }],
    },
    flags: {
      number: {
        kind: "parsed",
        parse: parseCountUpTo(MAX),
        default: String(DEFAULT),
        brief: "Number of changes",
        placeholder: "number",
      },
    },
    aliases: { n: "number" },
  },
  run: async (ctx, { number }, typed) => {
    const target = parseTarget(typed);
    const table = folderIn(target);
    const changes = await openChanges(ctx, target);
    return { entries: await changes.history({ table: table === "" ? undefined : table, limit: number }) };
  },
  render: ({ entries }, out) => {
    if (entries.length === 0) out.line("There are no changes.");
    const rows = entries.map(({ changed_at: at, changes, made_by: madeBy, table, version }) => [
      String(version),
      at,
      table,
      changes.join(", "),
      madeBy ?? "",
    ]);
    for (const line of alignColumns(rows)) out.line(line);
  },
});
