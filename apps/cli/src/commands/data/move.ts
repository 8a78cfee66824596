import { appError } from "@appdb/contract/errors";
import { parseName, parseTablePath, parseTarget } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import type { Output } from "../../output/output.ts";
import { text } from "../parameters.ts";
import { folderIn, noteBroken, openChanges, pathIn } from "./changes.ts";
import { TABLE } from "./data-target.ts";

interface Moved extends SchemaPlan {
  readonly from: string;
  readonly to: string;
}

export const rename = defineCommand<JsonFlag, [path: string, name: string], Moved>({
  brief: "Rename a table or view",
  examples: [
    ["cli rename main/docs papers", "main/docs becomes main/papers; its views follow"],
    ["cli rename cloud://acme:main/docs papers", "of a hosted database"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [TABLE, { brief: "The new name, without a folder: papers", placeholder: "NAME", parse: text }],
    },
  },
  run: async (ctx, _flags, typed, name) => {
    const { target } = parseTablePath(typed);
    return await moveTo(ctx, typed, `${target.text}/${parseName("table", name)}`);
  },
  render: printMoved("renamed"),
});

export const move = defineCommand<JsonFlag, [path: string, folder: string], Moved>({
  brief: "Move a table to another folder",
  examples: [
    ["cli mv main/docs main/reports", "main/docs becomes main/reports/docs"],
    ["cli mv main/reports/docs main", "back to the database's root"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        TABLE,
        { brief: "The folder or database: main/reports, cloud://acme:main", placeholder: "FOLDER", parse: text },
      ],
    },
  },
  run: async (ctx, _flags, typed, folder) => {
    const { table } = parseTablePath(typed);
    return await moveTo(ctx, typed, `${parseTarget(folder).text}/${table}`);
  },
  render: printMoved("moved"),
});

/** @throws invalid_target for another database */
async function moveTo(ctx: Context, typed: string, typedTo: string): Promise<Moved> {
  const from = parseTablePath(typed);
  const to = parseTablePath(typedTo);
  const databaseOf = ({ target }: typeof from): string =>
    target.text.slice(0, target.text.length - folderIn(target).length);
  if (databaseOf(from).replace(/\/$/, "") !== databaseOf(to).replace(/\/$/, "")) {
    throw appError("invalid_target", {
      detail: `${from.text} cannot move to another database: ${to.target.text}.`,
      hint: "Name a folder of the same database.",
      meta: { table: from.text },
    });
  }
  const changes = await openChanges(ctx, from.target);
  const table = pathIn(from.target, from.table);
  const plan = await changes.change(
    { change: "move_table", table, to: pathIn(to.target, to.table) },
    { dry_run: false },
  );
  return { ...plan, from: from.text, to: to.text };
}

function printMoved(done: string) {
  return (moved: Moved, out: Output): void => {
    out.line(moved.tables.length === 0 ? `${moved.to}: nothing to do` : `${done}  ${moved.from} to ${moved.to}`);
    noteBroken(moved, out);
  };
}
