import { appError } from "@appdb/contract/errors";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { formatBytes } from "../../output/sizes.ts";
import { notFound, openMedia, RECURSIVE_FLAG, URI, uriOf } from "./media-target.ts";

interface Flags extends JsonFlag {
  readonly recursive: boolean;
  readonly yes: boolean;
}

export const rm = defineCommand<Flags, [uri: string], { readonly removed: number }>({
  brief: "Remove files of a media store",
  examples: [
    ["cli media rm mediafs://acme:main/home/pictures/holiday.jpg", "one file"],
    ["cli media rm -r --yes mediafs://acme:main/home/pictures", "a folder, without a question"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [URI] },
    flags: { recursive: RECURSIVE_FLAG, yes: { kind: "boolean", brief: "Do not ask", default: false } },
    aliases: { r: "recursive", y: "yes", f: "yes" },
  },
  run: async (ctx, { recursive, yes }, typed) => {
    const target = await openMedia(ctx, typed);
    const { is_folder: isFolder, name } = target;
    const uri = uriOf(target, name);
    const again = commandLine(["media", "rm", "-r", "--yes", uri]);
    if (!recursive) {
      if (isFolder) throw needsRecursive(uri, again);
      const { missing, removed } = await target.call("mediaRemove", { body: { names: [name] } });
      if (missing.length === 0) return { removed };
      const { files } = await target.call("mediaUsage", { query: { name } });
      throw files > 0 ? needsRecursive(uri, again) : notFound(target);
    }
    const { bytes, files } = await target.call("mediaUsage", { query: { name } });
    if (files === 0 && name === "") return { removed: 0 };
    if (files === 0) throw notFound(target);
    const question = `Remove ${count(files, "file")} (${formatBytes(bytes)}) of ${uri}?`;
    await confirm(ctx, { question, force: yes, again });
    const { removed } = await target.call("mediaRemove", { body: { names: [], folder: name } });
    return { removed };
  },
  render: ({ removed }, out) => out.line(`Removed ${count(removed, "file")}.`),
});

function needsRecursive(uri: string, again: string): Error {
  return appError("usage", { detail: `${uri} is a folder.`, hint: `Remove it with everything in it: ${again}` });
}
