import { PUBLIC_INDEX, type SharedIndex } from "@appdb/python-runtime/documents/lock-sources";
import { z } from "zod";

const empty = (value: unknown) => (value === "" ? undefined : value);
const list = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== ""),
  )
  .refine((hosts) => hosts.every((host) => /^[^\s/:]+:\d{1,5}$/.test(host)), {
    error: "expected entries of the form host:port",
  });

const indexUrl = z.url({ protocol: /^https?$/ }).refine((url) => new URL(url).username === "", {
  error: "has a user name; packages of an index with credentials cannot be shared",
});

/** Settings of image builds, by the names of their environment variables. */
export const buildSettings = {
  /** PEM certificates of a private authority, used by the operator's proxy or index. */
  SERVICE_BUILD_CA_FILE: z.preprocess(empty, z.string().optional()),
  /** `host:port` of a private package index or proxy that builds may reach despite the network policy. */
  SERVICE_BUILD_HOSTS: list,
  /** An index whose packages all organizations share; "public" is uv's default index. "none": each fetches its own. */
  SERVICE_SHARED_INDEX: z.preprocess(empty, z.union([z.enum(["public", "none"]), indexUrl]).default("public")),
  /** Maximum size of the shared packages, in addition to images. When exceeded, the cache is emptied and refilled. */
  SERVICE_SHARED_INDEX_GB: z.preprocess(empty, z.coerce.number().positive().default(20)),
  /** 0: images can use only Python versions that are installed on the machine. */
  SERVICE_PYTHON_DOWNLOADS: z.preprocess(empty, z.enum(["0", "1"]).default("1")),
} as const;

type Found = z.output<z.ZodObject<typeof buildSettings>>;

/** Environment variables that builds inherit from the server: proxies and the default index. */
const NETWORK = /^(https?_proxy|all_proxy|no_proxy|uv_default_index|uv_index_url)$/i;

export interface BuildsConfig {
  readonly ca_file: string | undefined;
  readonly allowed_hosts: readonly string[];
  readonly may_download_python: boolean;
  /** Null if organizations share no packages. */
  readonly shared_index: SharedIndex | null;
  readonly shared_cache_bytes: number;
  /** From the server's environment. May contain credentials of the operator's proxy or index. */
  readonly network_env: Readonly<Record<string, string>>;
}

export function toBuildsConfig(found: Found, env: Readonly<Record<string, string | undefined>>): BuildsConfig {
  const network = Object.entries(env).flatMap(([name, value]) =>
    NETWORK.test(name) && value !== undefined && value !== "" ? [[name, value] as const] : [],
  );
  return {
    ca_file: found.SERVICE_BUILD_CA_FILE ?? empty(env.SSL_CERT_FILE)?.toString(),
    allowed_hosts: found.SERVICE_BUILD_HOSTS,
    shared_index: toSharedIndex(found.SERVICE_SHARED_INDEX),
    shared_cache_bytes: found.SERVICE_SHARED_INDEX_GB * 1024 ** 3,
    may_download_python: found.SERVICE_PYTHON_DOWNLOADS === "1",
    network_env: Object.fromEntries(network),
  };
}

/** A private index serves its files from its own host. */
function toSharedIndex(url: string): SharedIndex | null {
  if (url === "none") return null;
  const isPublic = url === "public" || url.replace(/\/+$/, "") === PUBLIC_INDEX.url;
  return isPublic ? PUBLIC_INDEX : { url, file_origins: [] };
}
