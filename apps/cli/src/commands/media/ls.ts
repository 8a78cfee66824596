import type { MediaEntry } from "@appdb/contract/routes/media-files";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { showControls } from "../../output/show-controls.ts";
import { formatBytes } from "../../output/sizes.ts";
import { notFound, openMedia, RECURSIVE_FLAG, URI } from "./media-target.ts";

interface Flags extends JsonFlag {
  readonly recursive: boolean;
  readonly objects: boolean;
}

export const ls = defineCommand<Flags, [uri: string], MediaEntry[]>({
  brief: "List files of a media store",
  examples: [
    ["cli media ls mediafs://acme:main/home", "files and folders of a hosted database"],
    ["cli media ls -r mediafs://main/home/pictures --json", "all files below a folder of a local database"],
    ["cli media ls --objects mediafs://acme:main/home", "also files of rows, which are named by their content"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [URI] },
    flags: {
      recursive: RECURSIVE_FLAG,
      objects: { kind: "boolean", brief: "List stored objects by their keys", default: false },
    },
    aliases: { r: "recursive" },
  },
  run: async (ctx, { objects, recursive }, typed) => {
    const target = await openMedia(ctx, typed);
    const found: MediaEntry[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const deep = recursive || objects ? "1" : "0";
      const query = { name: target.name, deep, objects: objects ? "1" : "0", limit: 1_000, cursor };
      const page: { items: MediaEntry[]; next: string | null } = await target.call("mediaList", { query });
      found.push(...page.items);
      cursor = page.next;
    }
    if (found.length > 0) return found;
    if (target.name !== "") throw notFound(target);
    const { stored } = await target.call("mediaUsage", { query: {} });
    if (!objects && stored.objects > 0) ctx.out.note(noteObjects(target.store, stored.objects));
    return found;
  },
  render: (entries, out) => {
    if (entries.length === 0) out.line("No files.");
    for (const line of alignColumns(entries.map(lineOf))) out.line(line);
  },
});

function noteObjects(store: string, objects: number): string {
  const command = commandLine(["media", "ls", "--objects", store]);
  return `The store holds ${count(objects, "object")}, such as files of rows: ${command}`;
}

function lineOf({ bytes, is_folder: isFolder, name, type, updated_at: updatedAt }: MediaEntry): string[] {
  const at = updatedAt.replace("T", " ").slice(0, 16);
  return [formatBytes(bytes), at, isFolder ? "folder" : (type ?? ""), isFolder ? `${name}/` : name].map(showControls);
}
