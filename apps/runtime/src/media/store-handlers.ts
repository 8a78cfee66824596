import type { MEDIA_SCHEMAS } from "@appdb/contract/routes/media-files";
import type { ManagedStore } from "@appdb/media/files/managed-store";
import type { z } from "zod";

type Schemas = typeof MEDIA_SCHEMAS;
type Query<Name extends "mediaList" | "mediaUsage"> = z.output<Schemas[Name]["query"]>;
type Body<Name extends "mediaRemove" | "mediaPrune" | "mediaRead" | "mediaWrite"> = z.output<Schemas[Name]["body"]>;

/**
 * The routes of a media store, for each API that has them. `open` finds the store of a request, and `base` the path that
 * its addresses begin with.
 */
export function mediaHandlers<Params>(
  open: (params: Params) => Promise<ManagedStore>,
  base: (params: Params) => string,
) {
  const addressed = <File extends { readonly address: string | null }>(params: Params, files: readonly File[]) =>
    files.map((file) => ({ ...file, address: file.address === null ? null : base(params) + file.address }) as File);
  return {
    mediaList: async ({ params, query }: { params: Params; query: Query<"mediaList"> }) => {
      const { cursor = "", deep, limit, name, objects } = query;
      const store = await open(params);
      return await store.list({ name, limit, after: cursor, is_deep: deep === "1", objects: objects === "1" });
    },
    mediaUsage: async ({ params, query }: { params: Params; query: Query<"mediaUsage"> }) =>
      await (await open(params)).usage(query.name),
    mediaRemove: async ({ params, body: { folder, names } }: { params: Params; body: Body<"mediaRemove"> }) =>
      await (await open(params)).remove(names, folder),
    mediaPrune: async ({ params, body }: { params: Params; body: Body<"mediaPrune"> }) =>
      await (await open(params)).prune(body.dry_run),
    mediaRead: async ({ params, body }: { params: Params; body: Body<"mediaRead"> }) => ({
      files: addressed(params, await (await open(params)).read(body.names, body.expires_s)),
    }),
    mediaWrite: async ({ params, body }: { params: Params; body: Body<"mediaWrite"> }) => ({
      files: addressed(params, await (await open(params)).write(body.files, body.expires_s)),
    }),
  };
}
