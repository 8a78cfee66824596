import * as z from "zod";
import { MAX_MEDIA_NAME } from "../media-uri.ts";

/** Bodies of the routes for files of media stores. Names are checked by `checkMediaName`. */
const time = z.iso.datetime();
const textUpTo = (length: number) =>
  z
    .string()
    .max(length)
    .refine((text) => !text.includes("\0"), "Must not contain a NUL character");
const name = textUpTo(MAX_MEDIA_NAME);
const yesOrNo = z.enum(["0", "1"]).default("0");
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** Maximum files of one request for addresses. */
export const MAX_ADDRESSES = 100;
/** Maximum names of one request that removes files. */
export const MAX_REMOVED = 1_000;
/** An address is valid for at most these seconds. */
export const MAX_EXPIRES_S = 14_400;

export const mediaListQuerySchema = z.strictObject({
  /** The name of a file, or of a folder. Empty: all. */
  name: name.default(""),
  /** `1`: also the files in folders below. Otherwise a folder is one entry. */
  deep: yesOrNo,
  /** `1`: the objects that the store named by their content, in place of the files that people named. */
  objects: yesOrNo,
  cursor: textUpTo(2_000).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
});

export const mediaEntrySchema = z.object({
  name: z.string(),
  is_folder: z.boolean(),
  /** 1 for a file. */
  files: z.int(),
  bytes: z.int(),
  /** Null for a folder. */
  type: z.string().nullable(),
  sha256: z.string().nullable(),
  /** Of the newest file in a folder. */
  updated_at: time,
});
export type MediaEntry = z.infer<typeof mediaEntrySchema>;

export const mediaListSchema = z.object({ items: z.array(mediaEntrySchema), next: z.string().nullable() });

export const mediaUsageQuerySchema = z.strictObject({ name: name.default("") });
export const mediaUsageSchema = z.object({
  /** Files by the names that people gave, in the folder of the request. */
  files: z.int(),
  bytes: z.int(),
  /** The entries directly in it. */
  entries: z.array(mediaEntrySchema),
  /** Everything that the store holds: equal content once, and files of rows. */
  stored: z.object({ objects: z.int(), bytes: z.int() }),
  /** Bytes that can still be stored; null where only the disk of the machine sets a limit. */
  room_bytes: z.int().nullable(),
  /** The setting that bounds them. */
  room_of: z.enum(["disk_gb", "media_gb"]).nullable(),
});
export type MediaUsage = z.infer<typeof mediaUsageSchema>;

export const mediaRemoveSchema = z.strictObject({
  names: z.array(name).max(MAX_REMOVED).default([]),
  /** Removes all files of this folder too. */
  folder: name.optional(),
});
export const mediaRemovedSchema = z.object({ removed: z.int(), missing: z.array(z.string()) });

export const mediaPruneSchema = z.strictObject({
  /** Only counts what would be deleted. */
  dry_run: z.boolean().default(false),
});
/** Objects that no row and no name refers to. */
export const mediaPrunedSchema = z.object({ objects: z.int(), bytes: z.int() });
export type MediaPruned = z.infer<typeof mediaPrunedSchema>;

const expires = z.int().min(1).max(MAX_EXPIRES_S).default(3_600);

export const mediaReadSchema = z.strictObject({
  names: z.array(name).min(1).max(MAX_ADDRESSES),
  expires_s: expires,
});
/** A file that can be read, by GET, until its address expires. */
export const readableFileSchema = z.object({
  name: z.string(),
  key: z.string(),
  bytes: z.int(),
  type: z.string(),
  sha256: z.string(),
  address: z.string(),
});
export type ReadableFile = z.infer<typeof readableFileSchema>;
export const mediaReadAnswerSchema = z.object({ files: z.array(readableFileSchema) });

export const mediaWriteSchema = z.strictObject({
  files: z
    .array(
      z.strictObject({
        /** Null: the store names it by its content, for a row. Without a row that refers to it, it is deleted after two days. */
        name: name.nullable(),
        bytes: z.int().min(0),
        /** Content that the store has already needs no upload. */
        sha256: sha256.optional(),
      }),
    )
    .min(1)
    .max(MAX_ADDRESSES),
  expires_s: expires,
});
export const storedFileSchema = z.object({
  name: z.string().nullable(),
  key: z.string(),
  bytes: z.int(),
  type: z.string(),
  sha256: z.string(),
});
export type StoredFile = z.infer<typeof storedFileSchema>;
/**
 * Either `stored`, or the address that takes the file by PUT until it expires, and answers it as stored. It takes the
 * announced bytes and content alone.
 */
export const writableFileSchema = z.object({
  stored: storedFileSchema.nullable(),
  /** Whether the name had this content before. */
  is_same: z.boolean(),
  /** Whether the name has other content, whose place this file takes. */
  replaces: z.boolean(),
  address: z.string().nullable(),
});
export type WritableFile = z.infer<typeof writableFileSchema>;
export const mediaWriteAnswerSchema = z.object({ files: z.array(writableFileSchema) });

/** The input and output of the routes, which are the same in all APIs. */
export const MEDIA_SCHEMAS = {
  mediaList: { query: mediaListQuerySchema, answer: mediaListSchema },
  mediaUsage: { query: mediaUsageQuerySchema, answer: mediaUsageSchema },
  mediaRemove: { body: mediaRemoveSchema, answer: mediaRemovedSchema },
  mediaPrune: { body: mediaPruneSchema, answer: mediaPrunedSchema },
  mediaRead: { body: mediaReadSchema, answer: mediaReadAnswerSchema },
  mediaWrite: { body: mediaWriteSchema, answer: mediaWriteAnswerSchema },
} as const;
