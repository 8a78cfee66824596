import type { MediaUsage } from "@appdb/contract/routes/media-files";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { count } from "../../output/count.ts";
import { showControls } from "../../output/show-controls.ts";
import { formatBytes } from "../../output/sizes.ts";
import { notFound, openMedia, URI } from "./media-target.ts";

export const du = defineCommand<JsonFlag, [uri: string], MediaUsage>({
  brief: "Show the size of a media store and of its folders",
  examples: [
    ["cli media du mediafs://acme:main/home", "the store of a hosted database"],
    ["cli media du mediafs://main/home/pictures --json", "a folder of a local one, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [URI] } },
  run: async (ctx, _flags, typed) => {
    const target = await openMedia(ctx, typed);
    const usage = await target.call("mediaUsage", { query: { name: target.name } });
    if (usage.files === 0 && target.name !== "") throw notFound(target);
    return usage;
  },
  render: ({ bytes, entries, files, room_bytes: roomBytes, room_of: roomOf, stored }, out) => {
    const rows = entries.map((entry) => [
      formatBytes(entry.bytes),
      count(entry.files, "file"),
      showControls(entry.is_folder ? `${entry.name}/` : entry.name),
    ]);
    for (const line of alignColumns([...rows, [formatBytes(bytes), count(files, "file"), "together"]])) out.line(line);
    const room = roomBytes === null ? "" : `, room for ${formatBytes(Math.max(0, roomBytes))} (${roomOf})`;
    out.line(`The store holds ${formatBytes(stored.bytes)} in ${count(stored.objects, "object")}${room}.`);
  },
});
