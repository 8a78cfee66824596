import type { AnswerOf, InputOf } from "@appdb/contract/clients/client";
import { AppError, appError } from "@appdb/contract/errors";
import { isMediaUri, MEDIA_SCHEME, type MediaUri, parseMediaUri } from "@appdb/contract/media-uri";
import { HOSTED_SCHEME } from "@appdb/contract/names";
import type { MediaEntry, ReadableFile } from "@appdb/contract/routes/media-files";
import type { POD_API } from "@appdb/contract/routes/pod-api";
import type { Context } from "../../context.ts";
import { commandLine } from "../../output/command-line.ts";
import { text } from "../parameters.ts";
import { throughRestarts } from "./through-restarts.ts";

type Api = Pick<typeof POD_API, "mediaList" | "mediaUsage" | "mediaRemove" | "mediaPrune" | "mediaRead" | "mediaWrite">;

/** The media store of a local or hosted database. Addresses are complete. */
export interface MediaTarget extends MediaUri {
  call<Name extends keyof Api>(name: Name, input: InputOf<Api[Name]>): Promise<AnswerOf<Api[Name]>>;
  /** The address of a file as a request takes it. */
  resolve(address: string): string;
}

export const URI = {
  brief: "The place: mediafs://main/home/pictures, mediafs://acme:main/home",
  placeholder: "URI",
  parse: text,
} as const;
export const RECURSIVE_FLAG = { kind: "boolean", brief: "Also everything in folders", default: false } as const;

/** Opens the store of a typed address. @throws invalid_target; errors of finding the daemon or the server */
export async function openMedia(ctx: Context, typed: string): Promise<MediaTarget> {
  const uri = parseTyped(typed);
  const { database } = uri;
  const options = { signal: ctx.signal };
  if ("organization" in database) {
    const { client } = await (await ctx.control()).open();
    const params = { org: database.organization, db: database.database };
    const retried = throughRestarts({ signal: ctx.signal, note: ctx.out.note });
    return {
      ...uri,
      call: (name, input) => {
        const send = () => client.call(name, { ...input, params } as never, options);
        // a removal whose response was lost would not find its files
        return (name === "mediaRemove" ? send() : retried(send)) as never;
      },
      resolve: (address) => address,
    };
  }
  if (database.folders.length > 0) throw oneStore(uri);
  const client = await ctx.daemon.ensure();
  const daemon = await ctx.daemon.find();
  return {
    ...uri,
    call: (name, input) =>
      client.call(name, { ...input, params: { db: database.database } } as never, options) as never,
    resolve: (address) => `http://127.0.0.1:${daemon?.file.port}${address}`,
  };
}

/** Every file in a folder, or the file itself. */
export async function* eachFile(target: MediaTarget, name: string): AsyncGenerator<MediaEntry> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { name, deep: "1", limit: 1_000, cursor };
    const page: AnswerOf<Api["mediaList"]> = await target.call("mediaList", { query });
    yield* page.items;
    cursor = page.next;
  }
}

/** The address of one file. @throws media_not_found, usage for a folder */
export async function readableFile(source: MediaTarget, to: string): Promise<ReadableFile[]> {
  if (source.is_folder) throw needsRecursive(source, to);
  try {
    return await readable(source, [source.name]);
  } catch (error) {
    const isMissing = error instanceof AppError && error.code === "media_not_found";
    throw isMissing && (await isStoreFolder(source, source.name)) ? needsRecursive(source, to) : error;
  }
}

/** Addresses of files, in their order. @throws media_not_found; server_failed for files that were not asked for */
export async function readable(target: MediaTarget, names: readonly string[]): Promise<ReadableFile[]> {
  const { files } = await target.call("mediaRead", { body: { names: [...names], expires_s: EXPIRES_S } });
  const unasked = files.find(({ name }, at) => name !== names[at]);
  if (unasked !== undefined) throw unaskedName(unasked.name);
  return files.map((file) => ({ ...file, address: target.resolve(file.address) }));
}

/** The error of a server that answers with the name of another file. */
export function unaskedName(name: string): Error {
  return appError("server_failed", {
    detail: `The server answered with the file ${JSON.stringify(name.slice(0, 200))}, which was not asked for.`,
    hint: "Check that you trust this server: cli whoami",
  });
}

/** Whether a name is a folder of the store and not a file. */
export async function isStoreFolder(target: MediaTarget, name: string): Promise<boolean> {
  if (name === "") return true;
  const { items } = await target.call("mediaList", { query: { name, limit: 1 } });
  return items[0] !== undefined && items[0].name !== name;
}

/** The destination of one file: a folder that exists keeps the file's name. */
export async function destinationOf(target: MediaTarget): Promise<MediaTarget> {
  return { ...target, is_folder: target.is_folder || (await isStoreFolder(target, target.name)) };
}

/** The error of one file that is a folder: `to` is the destination as it was typed. */
export function needsRecursive(source: MediaTarget, to: string): Error {
  const uri = uriOf(source, source.name);
  return appError("usage", {
    detail: `${uri} is a folder.`,
    hint: `Copy all of its files: ${commandLine(["media", "cp", "-r", uri, to])}`,
  });
}

/** Long enough for the files of one request. */
export const EXPIRES_S = 14_400;

/** The complete address of a name. */
export function uriOf({ store }: Pick<MediaUri, "store">, name: string): string {
  return name === "" ? store : `${store}/${name}`;
}

/** The error of a file or folder that the store does not have. */
export function notFound(source: MediaTarget): Error {
  return appError("media_not_found", {
    detail: `${uriOf(source, source.name)} does not exist.`,
    hint: `List the store: cli media ls -r ${source.store}`,
  });
}

function parseTyped(typed: string): MediaUri {
  if (isMediaUri(typed)) return parseMediaUri(typed);
  const examples = `${MEDIA_SCHEME}main/home, or ${MEDIA_SCHEME}acme:main/home of a hosted database`;
  const isHosted = typed.startsWith(HOSTED_SCHEME);
  throw appError("invalid_target", {
    detail: `${JSON.stringify(typed.slice(0, 200))} is not the address of a media store.`,
    hint: `Write: ${isHosted ? `${MEDIA_SCHEME}${typed.slice(HOSTED_SCHEME.length)}/home` : examples}`,
    meta: { target: typed.slice(0, 200) },
  });
}

function oneStore({ database, store }: MediaUri): Error {
  return appError("invalid_target", {
    detail: `${store} names a folder of tables. A database has one media store for all of them.`,
    hint: `Write: ${MEDIA_SCHEME}${database.database}/home`,
  });
}
