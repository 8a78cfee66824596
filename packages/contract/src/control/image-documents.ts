import * as z from "zod";

/** Documents around images: what the builder keeps beside one, and what it reads of uv. */
const imagePackageSchema = z.object({ name: z.string(), version: z.string() });
export type ImagePackage = z.infer<typeof imagePackageSchema>;

/** Unpacked system packages; paths are relative to the image. */
const systemPartSchema = z.object({
  packages: z.array(imagePackageSchema),
  library_paths: z.array(z.string()),
  program_paths: z.array(z.string()),
});
export type SystemPart = z.infer<typeof systemPartSchema>;

export const builtImageSchema = z.object({
  /** `3.12.8` */
  python: z.string(),
  /** The interpreter that it was made from, and the folder of its installation: whoever runs the image sees that folder too. */
  base_python: z.string(),
  python_prefix: z.string(),
  packages: z.array(imagePackageSchema),
  system: systemPartSchema.nullable(),
  bytes: z.int(),
  /** Folders are files too; of images that older versions built nobody counted them. */
  files: z.int().default(0),
  built_at: z.iso.datetime(),
  /** Whether its packages came from the cache of all organizations. */
  is_shared: z.boolean(),
});
export type BuiltImage = z.infer<typeof builtImageSchema>;

/** `uv python list --output-format json` */
export const uvPythonsSchema = z.array(
  z.object({ version: z.string(), path: z.string().nullable(), implementation: z.string(), variant: z.string() }),
);

const lockedFileSchema = z.object({
  url: z.string(),
  hash: z.string().regex(/^sha(256|384|512):[0-9a-f]{64,128}$/),
});

/** A uv.lock that takes everything from indexes, each file by its address and hash. */
export const indexedLockSchema = z.object({
  package: z
    .array(
      z.object({
        source: z.union([
          z.strictObject({ registry: z.string() }),
          // the project itself, of which nothing is installed
          z.strictObject({ virtual: z.string() }),
          z.strictObject({ editable: z.literal(".") }),
        ]),
        sdist: lockedFileSchema.optional(),
        wheels: z.array(lockedFileSchema).optional(),
      }),
    )
    .default([]),
});
