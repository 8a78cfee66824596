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

/** Settings of builds, under the names of the environment. */
export const buildSettings = {
  /** Certificates of an own authority, PEM, that the operator's proxy or index shows. */
  SERVICE_BUILD_CA_FILE: z.preprocess(empty, z.string().optional()),
  /** `host:port` of the operator that builds may reach although the network denies it: an own package index or proxy. */
  SERVICE_BUILD_HOSTS: list,
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
    may_download_python: found.SERVICE_PYTHON_DOWNLOADS === "1",
    network_env: Object.fromEntries(network),
  };
}
