import { appError } from "@appdb/contract/errors";
import { isMediaUri } from "@appdb/contract/media-uri";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { formatBytes } from "../../output/sizes.ts";
import { text } from "../parameters.ts";
import { copyDown } from "./copy-down.ts";
import { type Copied, CopyProgress } from "./copy-progress.ts";
import { copyUp } from "./copy-up.ts";
import { copyWithin } from "./copy-within.ts";
import { openMedia, RECURSIVE_FLAG } from "./media-target.ts";

interface Flags extends JsonFlag {
  readonly recursive: boolean;
}

const PLACE = { brief: "A path, mediafs://main/home/pictures or mediafs://acme:main/home", parse: text } as const;

export const cp = defineCommand<Flags, [from: string, to: string], Copied>({
  brief: "Copy files into a media store, out of it, or within it",
  examples: [
    ["cli media cp holiday.jpg mediafs://acme:main/home/pictures/", "a file into a folder"],
    ["cli media cp -r pictures mediafs://main/home/pictures", "the files of a folder, into a local database"],
    ["cli media cp -r mediafs://acme:main/home/pictures copies", "files of a folder into a folder of this machine"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { ...PLACE, placeholder: "SOURCE" },
        { ...PLACE, placeholder: "DESTINATION" },
      ],
    },
    flags: { recursive: RECURSIVE_FLAG },
    aliases: { r: "recursive" },
  },
  run: async (ctx, { json, recursive }, from, to) => {
    if (from === "-" || to === "-") throw noStream(from, to);
    using progress = new CopyProgress(ctx.out, json);
    if (isMediaUri(from) && isMediaUri(to)) {
      const source = await openMedia(ctx, from);
      return await copyWithin(source, await openMedia(ctx, to), recursive, progress);
    }
    if (isMediaUri(to)) return await copyUp(ctx, from, await openMedia(ctx, to), recursive, progress);
    if (isMediaUri(from)) return await copyDown(ctx, await openMedia(ctx, from), to, recursive, progress);
    throw appError("usage", {
      detail: `Neither ${from} nor ${to} is in a media store.`,
      hint: `Write for example: ${commandLine(["media", "cp", from, "mediafs://acme:main/home/"])}, or mediafs://main/home/ of a local database`,
    });
  },
  render: ({ copied, skipped, ...sizes }, out) => {
    const kept = skipped === 0 ? "" : `, ${skipped} had the same content`;
    out.line(`Copied ${count(copied, "file")} (${describeSizes(sizes)})${kept}.`);
  },
});

function describeSizes({ bytes, stored_bytes: storedBytes }: Pick<Copied, "bytes" | "stored_bytes">): string {
  if (storedBytes === 0) return formatBytes(bytes);
  if (bytes === 0) return `${formatBytes(storedBytes)}, already stored`;
  return `${formatBytes(bytes + storedBytes)}, ${formatBytes(storedBytes)} of it already stored`;
}

/** The size of what a pipe sends is unknown, and a store takes files of a known size. */
function noStream(from: string, to: string): Error {
  return appError("usage", {
    detail: "'-' for standard input or output is not supported: files are copied by their paths.",
    hint: `Copy by way of a file: ${commandLine(["media", "cp", from === "-" ? "FILE" : from, to === "-" ? "FILE" : to])}`,
  });
}
