import { type CloudAddress, isCloud, readStoreAddress, SOURCE_FORMS } from "@appdb/media/stores/media-address";
import { Secret } from "@appdb/system/secret";
import { z } from "zod";

/** Variables of clouds' own tools, which hold the credentials of the bucket. */
const CREDENTIALS = /^(?:AWS|GOOGLE|AZURE_STORAGE)_[A-Z0-9_]+$|^STORAGE_EMULATOR_HOST$/;

/** Settings of the media stores of all databases, by the names of their environment variables. */
export const mediaSettings = {
  /** The bucket of all managed media stores. Unset: their files are in the home. */
  SERVICE_MEDIA_URL: z.preprocess(
    (value) => (value === "" ? undefined : value),
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
} as const;

/** The bucket of the operator, and what its SDK finds in the server's environment. */
export interface MediaConfig {
  readonly bucket: CloudAddress;
  readonly environment: Readonly<Record<string, Secret>>;
}

export function toMediaConfig(
  { SERVICE_MEDIA_URL: bucket }: z.output<z.ZodObject<typeof mediaSettings>>,
  env: Readonly<Record<string, string | undefined>>,
): MediaConfig | undefined {
  if (bucket === undefined) return undefined;
  const found = Object.entries(env).flatMap(([name, value]) =>
    CREDENTIALS.test(name) && value ? [[name, new Secret(value)] as const] : [],
  );
  return { bucket, environment: Object.fromEntries(found) };
}
