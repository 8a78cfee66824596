import type { Written } from "@appdb/contract/routes/data-writes";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { FORCE_FLAG, text } from "../parameters.ts";
import { keysOf, openTable, tableToWrite, WHERE_FLAG, whileWorking } from "./data-target.ts";
import { nameRows } from "./name-rows.ts";
import { checkSelection } from "./update.ts";

interface Flags extends JsonFlag {
  readonly where?: string;
  readonly force: boolean;
}

interface Deleted extends Written {
  readonly path: string;
}

export const deleteRows = defineCommand<Flags, [path: string, ...key: string[]], Deleted>({
  brief: "Delete rows of a table",
  examples: [
    ["cli delete main/docs 42 43", "the rows with these keys, after a question"],
    [`cli delete main/docs --where "score < 0.5" -f`, "all rows of a condition, without a question"],
    ["cli delete cloud://acme:main/docs --where true -f --json", "all rows of a hosted table, for a program"],
  ],
  parameters: {
    positional: {
      kind: "array",
      parameter: { brief: "The table, then keys: main/docs 42 43", placeholder: "TABLE KEY", parse: text },
      minimum: 1,
    },
    flags: { where: WHERE_FLAG, force: FORCE_FLAG },
    aliases: { f: "force" },
  },
  run: async (ctx, { force, json, where }, named, ...key) => {
    checkSelection("delete", named, key, where);
    const { data, path, text: whole } = await openTable(ctx, named);
    const table = where === undefined ? await tableToWrite(data, path) : undefined;
    const keys = table === undefined ? [] : keysOf(table, key, whole);
    const rows = where === undefined ? keys.length : await data.count(path, where);
    const selection = where === undefined ? key : ["--where", where];
    await confirm(ctx, {
      question: `Permanently delete ${count(rows, "row")} of ${whole}?`,
      force,
      again: commandLine(["delete", named, ...selection, "-f"]),
    });
    const body =
      where === undefined
        ? `{"keys":[${keys.map((one) => `[${one.map(([, json]) => json).join(",")}]`).join(",")}]}`
        : JSON.stringify({ where });
    const send = () => nameRows(data.delete(path, body), { keys, table, path: whole });
    const written = await whileWorking(ctx.out, json, `deleting ${count(rows, "row")}`, send);
    return { path: whole, ...written };
  },
  render: ({ deleted, path }, out) => out.line(`${count(deleted, "row")} of ${path} deleted`),
});
