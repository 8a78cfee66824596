import { appError } from "@appdb/contract/errors";
import type { MediaPruned } from "@appdb/contract/routes/media-files";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { formatBytes } from "../../output/sizes.ts";
import { DRY_RUN_FLAG, FORCE_FLAG } from "../parameters.ts";
import { openMedia, URI, uriOf } from "./media-target.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
  readonly dryRun: boolean;
}

/** Services do the same two days after a file was given last. */
export const prune = defineCommand<Flags, [uri: string], MediaPruned>({
  brief: "Free the files of a media store that nothing refers to",
  examples: [
    ["cli media prune mediafs://acme:main/home -n", "only show how many, and their size"],
    ["cli media prune mediafs://main/home -f", "of a local database, without asking"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [URI] },
    flags: { force: FORCE_FLAG, dryRun: DRY_RUN_FLAG },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, { dryRun, force }, typed) => {
    const target = await openMedia(ctx, typed);
    if (target.name !== "") throw oneFolder(uriOf(target, target.name), target.store);
    const unused = await target.call("mediaPrune", { body: { dry_run: true } });
    if (dryRun || unused.objects === 0) return unused;
    await confirm(ctx, {
      question: `Delete ${describe(unused)} of ${target.store} that no row and no name refers to?`,
      force,
      again: commandLine(["media", "prune", "-f", target.store]),
    });
    return await target.call("mediaPrune", { body: {} });
  },
  render: (pruned, out, { dryRun }) => {
    if (pruned.objects === 0)
      out.line("Nothing to free: rows and names refer to all files, or they are less than an hour old.");
    else out.line(`${dryRun ? "Would free" : "Freed"} ${describe(pruned)}.`);
  },
  exitCode: ({ objects }, { dryRun }) => (dryRun && objects > 0 ? EXIT.pending : EXIT.done),
});

function describe({ bytes, objects }: MediaPruned): string {
  return `${count(objects, "file")} (${formatBytes(bytes)})`;
}

function oneFolder(uri: string, store: string): Error {
  return appError("usage", {
    detail: `${uri} is a folder or a file, and unused files belong to no folder.`,
    hint: `Name the whole store: ${commandLine(["media", "prune", store])}`,
  });
}
