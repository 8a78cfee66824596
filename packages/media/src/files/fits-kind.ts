import { appError } from "@appdb/contract/errors";
import type { ColumnType, MediaKind } from "@appdb/contract/types";
import type { UploadedFile } from "@appdb/engine/ports";
import { type FoundType, sniffType, whyUnknown } from "./sniff-type.ts";

/** The type of an upload by its content. @throws media_invalid for another kind than the column's */
export function typeOf(file: UploadedFile, kind: MediaKind): FoundType {
  if (file.bytes === 0) throw wrongKind(file, kind, "it is empty");
  const found = sniffType(file.head, file.name);
  if (found === undefined || !fits(found, kind)) throw wrongKind(file, kind, misfit(found, file.head));
  return found;
}

/** Whether content is of a kind. Containers of films may hold sound alone; the check of the whole content decides. */
export function fits(found: FoundType, kind: ColumnType["kind"]): boolean {
  return found.kind === kind || CONTAINERS[found.kind] === kind;
}

/** What else a file of a kind can be. */
const CONTAINERS: Partial<Record<MediaKind, MediaKind>> = { video: "audio" };

/** What content is instead of its kind. `head`: its first bytes. */
export function misfit(found: FoundType | undefined, head: Uint8Array): string {
  return found === undefined ? whyUnknown(head) : `it is ${found.type}`;
}

/** Refuses a download by its first bytes. Content of an unknown type is left to the worker.
 *  @throws media_invalid for content of another kind */
export function requireKind(shown: string, kind: MediaKind, head: Uint8Array): void {
  const found = sniffType(head, shown);
  if (found === undefined || fits(found, kind)) return;
  throw appError("media_invalid", {
    detail: `${shown} is not valid ${kind} content: ${misfit(found, head)}.`,
    hint: "Give the address of a file with the content of this kind.",
    meta: { kind },
  });
}

export function wrongKindOfOwn(uri: string, kind: MediaKind, reason: string): Error {
  return appError("media_invalid", {
    detail: `${uri} is not valid ${kind} content: ${reason}.`,
    hint: "Give a file with the content of this kind. Its name does not matter.",
  });
}

export function madeWrongKind(kind: ColumnType["kind"], reason: string): Error {
  return appError("media_invalid", {
    detail: `The file that the function returned is not valid ${kind} content: ${reason}.`,
    hint: "Return a file of the column's type.",
  });
}

function wrongKind({ field, name }: UploadedFile, kind: MediaKind, reason: string): Error {
  const shown = name === "" ? "The file" : `The file ${JSON.stringify(name)}`;
  return appError("media_invalid", {
    detail: `${shown} for "${field}" is not valid ${kind} content: ${reason}.`,
    hint: `Send a file with the content of this kind. Its name and its content type do not matter.`,
    errors: [{ pointer: `/${field}`, detail: `This file is not valid ${kind} content.` }],
  });
}
