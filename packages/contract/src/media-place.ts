import * as z from "zod";
import { INPUT_DESTINATION, MEDIA_SOURCES, OUTPUT_DESTINATION, readSources } from "./media-variables.ts";

/** The name of a database's own media store in references. */
export const HOME_STORE = "home";

/**
 * The folders of a place. Functions read `home` and `cache`, and write what they make to `scratch`. Where they are
 * isolated they see nothing else of it.
 */
export const MEDIA_FOLDERS = { home: HOME_STORE, cache: "cache", uploads: "uploads", scratch: "scratch" } as const;

/** How the pods of a database reach its objects in the bucket of the server's operator. */
export const mediaSocketSchema = z.strictObject({ socket: z.string(), token: z.string() });
export type MediaSocket = z.infer<typeof mediaSocketSchema>;

/** Where the media of a database are on a machine, and where new ones go. */
export const mediaPlaceSchema = z.strictObject({
  /** The folder of the database's media: its store, its cache, and files on their way. */
  folder: z.string(),
  /** The store of given files: `home`, or the address of a destination. */
  input: z.string(),
  /** The store of computed media without a destination of their own. */
  output: z.string(),
  /** Further stores whose files requests may name, by their addresses: `s3://bucket/prefix`. */
  sources: z.array(z.string()),
  /** `mediafs://acme:main/home`: `home` by its address. Absent: a local database, which may store in folders (file:). */
  home_address: z.string().optional(),
  /** Absent: the objects of `home` are in its folder. Otherwise those that were stored before are there. */
  objects: mediaSocketSchema.optional(),
  /** Maximum bytes of files that functions are making. Absent: unbounded. */
  scratch_bytes: z.int().min(1).optional(),
  /** Whether files may be downloaded from this machine and from private networks. */
  may_reach_private: z.boolean(),
});
export type MediaPlace = z.infer<typeof mediaPlaceSchema>;

/** The place of a local database's media, with the stores of an environment. An empty variable counts as unset. */
export function localMediaPlace(folder: string, env: Readonly<Record<string, string | undefined>>): MediaPlace {
  return {
    folder,
    input: env[INPUT_DESTINATION] || HOME_STORE,
    output: env[OUTPUT_DESTINATION] || HOME_STORE,
    sources: readSources(env[MEDIA_SOURCES]),
    may_reach_private: true,
  };
}
