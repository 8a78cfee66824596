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
    error: "has another thing than host:port",
  });

const indexUrl = z.url({ protocol: /^https?$/ }).refine((url) => new URL(url).username === "", {
  error: "has a user name; packages of an index with credentials cannot be shared",
});

/** Settings of builds, under the names of the environment. */
export const buildSettings = {
  /** Certificates of an own authority, PEM, that the operator's proxy or index shows. */
  SERVICE_BUILD_CA_FILE: z.preprocess(empty, z.string().optional()),
  /** `host:port` of the operator that builds may reach although the network denies it: an own package index or proxy. */
  SERVICE_BUILD_HOSTS: list,
  /** Packages of this index are fetched and kept once for all organizations; "public": of the one that uv takes when nobody names one;
   *  "none": for each of them. */
  SERVICE_SHARED_INDEX: z.preprocess(empty, z.union([z.enum(["public", "none"]), indexUrl]).default("public")),
  /** What is kept of it beside images; when it is more, all of that is fetched again. */
  SERVICE_SHARED_INDEX_GB: z.preprocess(empty, z.coerce.number().positive().default(20)),
  /** 0: images are made of Pythons that the machine has, and of no others. */
  SERVICE_PYTHON_DOWNLOADS: z.preprocess(empty, z.enum(["0", "1"]).default("1")),
} as const;

type Found = z.output<z.ZodObject<typeof buildSettings>>;

/** What the operator's own programs use too: how the network is reached, and which index is the usual one. */
const NETWORK = /^(https?_proxy|all_proxy|no_proxy|uv_default_index|uv_index_url)$/i;

export interface BuildsConfig {
  readonly ca_file: string | undefined;
  readonly allowed_hosts: readonly string[];
  readonly may_download_python: boolean;
  /** Null: nothing is kept for all organizations together. */
  readonly shared_index: SharedIndex | null;
  readonly shared_cache_bytes: number;
  /** Of the server's environment; credentials in it are those of the operator's proxy or index. */
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

/** The files of an index of the operator's lie where it does. */
function toSharedIndex(url: string): SharedIndex | null {
  if (url === "none") return null;
  const isPublic = url === "public" || url.replace(/\/+$/, "") === PUBLIC_INDEX.url;
  return isPublic ? PUBLIC_INDEX : { url, file_origins: [] };
}
