import { appError } from "@appdb/contract/errors";
import { parseName, parseTablePath, parseTarget } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { TableChange } from "@appdb/contract/routes/table-changes";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import type { Output } from "../../output/output.ts";
import { DRY_RUN_FLAG, text } from "../parameters.ts";
import { folderIn, linesOf, noteBroken, openChanges, pathIn } from "./changes.ts";

interface Flags extends JsonFlag {
  readonly dryRun: boolean;
}

interface Moved extends SchemaPlan {
  readonly from: string;
  readonly to: string;
}

const MOVED = {
  brief: "The table, view or folder: main/docs, cloud://acme:main/docs",
  placeholder: "TABLE",
  parse: text,
} as const;

export const rename = defineCommand<Flags, [path: string, name: string], Moved>({
  brief: "Rename a table, view or folder",
  examples: [
    ["cli rename main/docs papers", "main/docs becomes main/papers; its views follow"],
    ["cli rename cloud://acme:main/reports old -n", "only show what a folder's new name moves"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [MOVED, { brief: "The new name, without a folder: papers", placeholder: "NAME", parse: text }],
    },
    flags: { dryRun: DRY_RUN_FLAG },
    aliases: { n: "dryRun" },
  },
  run: async (ctx, { dryRun: isDry }, typed, name) => {
    const { target } = parseTablePath(typed);
    return await moveTo(ctx, isDry, typed, `${target.text}/${parseName("table", name)}`);
  },
  render: printMoved("rename", "renamed"),
  exitCode: exitCodeOf,
});

export const move = defineCommand<Flags, [path: string, folder: string], Moved>({
  brief: "Move a table or folder to another folder",
  examples: [
    ["cli mv main/docs main/reports", "main/docs becomes main/reports/docs"],
    ["cli mv main/reports/docs main", "back to the database's root"],
    ["cli mv main/reports main/archive -n", "only show what would move with the folder"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        MOVED,
        { brief: "The folder or database: main/reports, cloud://acme:main", placeholder: "FOLDER", parse: text },
      ],
    },
    flags: { dryRun: DRY_RUN_FLAG },
    aliases: { n: "dryRun" },
  },
  run: async (ctx, { dryRun: isDry }, typed, folder) => {
    const { table } = parseTablePath(typed);
    return await moveTo(ctx, isDry, typed, `${parseTarget(folder).text}/${table}`);
  },
  render: printMoved("move", "moved"),
  exitCode: exitCodeOf,
});

/** @throws invalid_target for another database */
async function moveTo(ctx: Context, isDry: boolean, typed: string, typedTo: string): Promise<Moved> {
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
  const change: TableChange = { change: "move_table", table, to: pathIn(to.target, to.table) };
  const plan = await changes.change(change, { dry_run: isDry });
  return { ...plan, from: from.text, to: to.text };
}

function isNothing({ ops, tables }: Moved): boolean {
  return tables.length + ops.length === 0;
}

function exitCodeOf(moved: Moved, { dryRun: isDry }: Flags): number {
  return isDry && !isNothing(moved) ? EXIT.pending : EXIT.done;
}

function printMoved(verb: string, done: string) {
  return (moved: Moved, out: Output, { dryRun: isDry }: Flags): void => {
    const { from, to } = moved;
    if (isNothing(moved)) out.line(`${to}: nothing to do`);
    else if (!isDry) out.line(`${done}  ${from} to ${to}`);
    else {
      out.line(`would ${verb}  ${from} to ${to}`);
      for (const [path, { description }] of linesOf(moved)) out.line(`  ${path}  (${description})`);
    }
    noteBroken(moved, out);
  };
}
