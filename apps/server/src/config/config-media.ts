import { type CloudAddress, isCloud, readStoreAddress, SOURCE_FORMS } from "@appdb/media/stores/media-address";
import { Secret } from "@appdb/system/secret";
import { z } from "zod";

/** Variables of clouds' own tools, which hold the credentials of the bucket. */
const CREDENTIALS = /^(?:AWS|GOOGLE|AZURE_STORAGE)_[A-Z0-9_]+$|^STORAGE_EMULATOR_HOST$/;

const empty = (value: unknown) => (value === "" ? undefined : value);
const gigabytes = z.coerce.number().int().min(1).max(1_048_576);

/** Settings of the media stores of all databases, by the names of their environment variables. */
export const mediaSettings = {
  /** The bucket of all managed media stores. Unset: their files are in the home. */
  SERVICE_MEDIA_URL: z.preprocess(
    empty,
    z
      .string()
      .transform((text, context) => {
        const address = readStoreAddress(text);
        if (address !== undefined && isCloud(address)) return address;
        context.addIssue({ code: "custom", message: `expected the address of a bucket: ${SOURCE_FORMS}` });
        return z.NEVER;
      })
      .optional(),
  ),
  /** Maximum size of a database's media store in the bucket, for entries without `media_gb`. */
  SERVICE_MEDIA_GB: z.preprocess(empty, gigabytes.optional()),
  /** Maximum that an entry can request. */
  SERVICE_MAX_MEDIA_GB: z.preprocess(empty, gigabytes.default(1_000)),
} as const;

/** Without `SERVICE_MEDIA_GB`. */
export const MEDIA_DEFAULT_GB = 100;

/** Bounds of one database's media store in the bucket. */
export interface MediaBounds {
  /** Without a setting of its own. */
  readonly default_gb: number;
  readonly max_gb: number;
}

/** The bucket of the operator, and what its SDK finds in the server's environment. */
export interface MediaConfig {
  readonly bounds: MediaBounds;
  readonly bucket: CloudAddress;
  readonly environment: Readonly<Record<string, Secret>>;
}

type Found = z.output<z.ZodObject<typeof mediaSettings>>;

/** Reports a default that exceeds the maximum. */
export function refuseCrossedMedia(found: Found, context: z.RefinementCtx): void {
  const { SERVICE_MAX_MEDIA_GB: maxGb, SERVICE_MEDIA_GB: defaultGb = 1 } = found;
  if (defaultGb <= maxGb) return;
  const message = `is ${defaultGb}, and SERVICE_MAX_MEDIA_GB is ${maxGb}: no database can have it`;
  context.addIssue({ code: "custom", path: ["SERVICE_MEDIA_GB"], message });
}

export function toMediaConfig(
  { SERVICE_MAX_MEDIA_GB: maxGb, SERVICE_MEDIA_GB: defaultGb, SERVICE_MEDIA_URL: bucket }: Found,
  env: Readonly<Record<string, string | undefined>>,
): MediaConfig | undefined {
  if (bucket === undefined) return undefined;
  const found = Object.entries(env).flatMap(([name, value]) =>
    CREDENTIALS.test(name) && value ? [[name, new Secret(value)] as const] : [],
  );
  return {
    bucket,
    bounds: { default_gb: defaultGb ?? Math.min(MEDIA_DEFAULT_GB, maxGb), max_gb: maxGb },
    environment: Object.fromEntries(found),
  };
}
