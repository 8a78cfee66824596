import { parseTablePath, parseTarget, type Target } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { TableChange } from "@appdb/contract/routes/table-changes";
import { type Context, confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { EXIT } from "../../output/exit-codes.ts";
import type { Output } from "../../output/output.ts";
import { DRY_RUN_FLAG, FORCE_FLAG, text } from "../parameters.ts";
import { folderIn, linesOf, noteBroken, openChanges, pathIn } from "./changes.ts";
import { TABLE } from "./data-target.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
  readonly dryRun: boolean;
}

interface DropFlags extends Flags {
  readonly cascade: boolean;
}

interface FolderFlags extends Flags {
  readonly recursive: boolean;
}

export const drop = defineCommand<DropFlags, [path: string], SchemaPlan>({
  brief: "Drop a table or view",
  examples: [
    ["cli drop main/docs -n", "only show what would be dropped, with the number of rows"],
    ["cli drop main/docs --cascade", "with the views over it, after asking"],
    ["cli drop cloud://acme:main/docs -f", "of a hosted database, without a question"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [TABLE] },
    flags: {
      force: FORCE_FLAG,
      cascade: { kind: "boolean", brief: "Also drop the views over it", default: false },
      dryRun: DRY_RUN_FLAG,
    },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, typed) => {
    const { table, target, text: path } = parseTablePath(typed);
    const change: TableChange = {
      change: "drop_table",
      table: pathIn(target, table),
      force: flags.cascade,
      if_not_exists: "error",
    };
    const again = commandLine(["drop", path, ...(flags.cascade ? ["--cascade"] : []), "-f"]);
    return await dropAfterQuestion(ctx, flags, { target, change, again });
  },
  render: printDrops,
  exitCode: (_plan, flags) => (flags.dryRun ? EXIT.pending : EXIT.done),
});

export const dropFolder = defineCommand<FolderFlags, [folder: string], SchemaPlan>({
  brief: "Drop a folder",
  examples: [
    ["cli drop-dir main/reports", "a folder without tables"],
    ["cli drop-dir main/reports -r", "with its tables and folders, after asking"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "The folder: main/reports, cloud://acme:main/reports", placeholder: "FOLDER", parse: text },
      ],
    },
    flags: {
      force: FORCE_FLAG,
      recursive: { kind: "boolean", brief: "Also drop its tables and folders", default: false },
      dryRun: DRY_RUN_FLAG,
    },
    aliases: { f: "force", n: "dryRun", r: "recursive" },
  },
  run: async (ctx, flags, typed) => {
    const target = parseTarget(typed);
    const change: TableChange = {
      change: "drop_folder",
      folder: folderIn(target),
      force: flags.recursive,
      if_not_exists: "error",
    };
    const again = commandLine(["drop-dir", target.text, ...(flags.recursive ? ["-r"] : []), "-f"]);
    return await dropAfterQuestion(ctx, flags, { target, change, again });
  },
  render: printDrops,
  exitCode: (_plan, flags) => (flags.dryRun ? EXIT.pending : EXIT.done),
});

/** Shows what goes, asks, and drops it. @throws confirmation_required */
async function dropAfterQuestion(
  ctx: Context,
  flags: Flags,
  { again, change, target }: { readonly target: Target; readonly change: TableChange; readonly again: string },
): Promise<SchemaPlan> {
  const changes = await openChanges(ctx, target);
  const plan = await changes.change(change, { dry_run: true });
  if (flags.dryRun) return plan;
  const lines = linesOf(plan);
  if (!flags.force) for (const [path, { description }] of lines) ctx.out.note(`- ${path}: ${description}`);
  noteBroken(plan, ctx.out);
  const names = lines.map(([path]) => path).join(", ");
  await confirm(ctx, { question: `Drop ${names}?`, force: flags.force, again });
  return await changes.change(change, { dry_run: false });
}

function printDrops(plan: SchemaPlan, out: Output, { dryRun: isDry }: Flags): void {
  for (const [path, { description }] of linesOf(plan)) {
    out.line(isDry ? `would drop  ${path}  (${description})` : `dropped  ${path}`);
  }
  if (isDry) noteBroken(plan, out);
}
