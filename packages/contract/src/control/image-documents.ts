import * as z from "zod";

/** Documents about images: the builder's record of an image, and the parts of uv's output that it reads. */
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
  /** Its base interpreter and the folder of that installation. A sandbox that runs the image must include the
   *  folder. */
  base_python: z.string(),
  python_prefix: z.string(),
  packages: z.array(imagePackageSchema),
  system: systemPartSchema.nullable(),
  bytes: z.int(),
  /** Folders count as files. Images of older versions have no count. */
  files: z.int().default(0),
  built_at: z.iso.datetime(),
  /** Whether its packages came from the cache shared by all organizations. */
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

/** A uv.lock with all packages from indexes, each file with its URL and hash. */
export const indexedLockSchema = z.object({
  package: z
    .array(
      z.object({
        source: z.union([
          z.strictObject({ registry: z.string() }),
          // The project itself, of which nothing is installed.
          z.strictObject({ virtual: z.string() }),
          z.strictObject({ editable: z.literal(".") }),
        ]),
        sdist: lockedFileSchema.optional(),
        wheels: z.array(lockedFileSchema).optional(),
      }),
    )
    .default([]),
});
