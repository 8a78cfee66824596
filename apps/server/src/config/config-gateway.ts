import { Secret } from "@appdb/system/secret";
import { z } from "zod";

const HTTPS_PORT = 443;
const LOOPBACK = ["127.0.0.1", "::1", "localhost"];
/** At most 236 characters: a host adds a label of up to 63, and a DNS name has at most 253. */
const DOMAIN = /^(?=.{1,236}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

const empty = (value: unknown) => (value === "" ? undefined : value);
const text = z.preprocess(empty, z.string().optional());
const count = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().int().min(min).max(max).default(fallback));

/** Settings of the gateway, by the names of their environment variables. */
export const gatewaySettings = {
  /** Serves each database at a host below it, over https only. If unset, each database gets a loopback port. */
  SERVICE_DOMAIN: z.preprocess(
    empty,
    z.string().toLowerCase().regex(DOMAIN, "is not a domain, such as apps.example.com").optional(),
  ),
  SERVICE_GATEWAY_HOST: z.preprocess(empty, z.string().default("127.0.0.1")),
  /** Used only with a domain. Service addresses name the port unless it is 443. */
  SERVICE_GATEWAY_PORT: count(HTTPS_PORT, 1, 65_535),
  /** Which requests are logged: all, only those that failed on our side, or none. */
  SERVICE_ACCESS_LOG: z.preprocess(empty, z.enum(["all", "errors", "off"]).default("errors")),
  /** PEM files of the certificate chain and its key. They are read again when they change. */
  SERVICE_TLS_CERT: text,
  SERVICE_TLS_KEY: text,
  /** Orders one certificate per host from this directory, instead of reading certificates from files. */
  SERVICE_ACME_DIRECTORY: z.preprocess(
    empty,
    z.url({ protocol: /^https$/, error: "is not an https address" }).optional(),
  ),
  /** The authority sends problem reports to this address. */
  SERVICE_ACME_EMAIL: z.preprocess(empty, z.email({ error: "is not a mail address" }).optional()),
  /** 1 accepts the terms of the authority. */
  SERVICE_ACME_AGREE_TERMS: z.preprocess(empty, z.enum(["0", "1"]).default("0")),
  /** PEM file: additional authorities that may sign the directory's own certificate. */
  SERVICE_ACME_CA_FILE: text,
  /** Identifier of the account at an authority that requires external account binding. */
  SERVICE_ACME_EAB_KEY_ID: text,
  SERVICE_ACME_EAB_KEY: text,
  /** Port that receives http-01 checks, sent to port 80. If unset, the authority checks the gateway's own port. */
  SERVICE_ACME_HTTP_PORT: z.preprocess(empty, z.coerce.number().int().min(1).max(65_535).optional()),
  /** Maximum body of a request that is not an upload. */
  SERVICE_MAX_BODY_MB: count(16, 1, 1_024),
  /** Maximum body of an upload. */
  SERVICE_MAX_UPLOAD_MB: count(2_048, 1, 1_048_576),
  /** Maximum silence of a service, before its response starts and within it. */
  SERVICE_REQUEST_TIMEOUT_S: count(300, 1, 86_400),
  /** Per service and gateway. */
  SERVICE_MAX_IN_FLIGHT: count(4_096, 1, 1_000_000),
  /** Per organization and gateway. */
  SERVICE_MAX_ORG_IN_FLIGHT: count(16_384, 1, 1_000_000),
  /** Memory of one gateway for bodies and responses. One organization gets a quarter of it. */
  SERVICE_GATEWAY_MEMORY_MB: count(256, 16, 1_048_576),
  /** Maximum connections to one gateway. */
  SERVICE_MAX_CONNECTIONS: count(16_384, 1, 1_000_000),
  /** Maximum connections from one address. Trusted proxies are exempt. */
  SERVICE_MAX_ADDRESS_CONNECTIONS: count(1_024, 1, 1_000_000),
  /** Requests per second, by key, database and gateway. 0 disables the limit. */
  SERVICE_KEY_RATE: count(10_000, 0, 1_000_000),
} as const;

type Found = z.output<z.ZodObject<typeof gatewaySettings>>;

export interface GatewayLimits {
  readonly body_bytes: number;
  readonly upload_bytes: number;
  readonly request_ms: number;
  /** Maximum time for a request's headers and short body, and maximum silence within a long body. */
  readonly client_ms: number;
  readonly in_flight: number;
  readonly org_in_flight: number;
  readonly memory_bytes: number;
  readonly connections: number;
  readonly address_connections: number;
  readonly key_rate: number;
}

/** Where and how certificates are ordered. */
export interface AcmeConfig {
  readonly directory: string;
  readonly email: string | undefined;
  readonly ca_file: string | undefined;
  readonly eab: { readonly kid: string; readonly key: Secret } | undefined;
  readonly http_port: number | undefined;
}

export interface GatewayConfig {
  readonly domain: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert_file: string; readonly key_file: string } | undefined;
  readonly acme: AcmeConfig | undefined;
  readonly access_log: "all" | "errors" | "off";
  readonly limits: GatewayLimits;
}

/** Reports conflicts between gateway settings. `isRun` says whether this process is a gateway. */
export function refuseGatewaySettings(found: Found, isRun: boolean, context: z.RefinementCtx): void {
  const refuse = (name: keyof Found, message: string) => context.addIssue({ code: "custom", path: [name], message });
  for (const [name, other] of [
    ["SERVICE_TLS_CERT", "SERVICE_TLS_KEY"],
    ["SERVICE_TLS_KEY", "SERVICE_TLS_CERT"],
  ] as const) {
    if (found[name] !== undefined) continue;
    if (found[other] !== undefined) refuse(name, `is required with ${other}`);
    else if (found.SERVICE_DOMAIN !== undefined && isRun && found.SERVICE_ACME_DIRECTORY === undefined) {
      refuse(name, "is required with SERVICE_DOMAIN, unless SERVICE_ACME_DIRECTORY is set");
    }
  }
  refuseAcmeSettings(found, refuse);
  if (found.SERVICE_DOMAIN === undefined && !LOOPBACK.includes(found.SERVICE_GATEWAY_HOST)) {
    refuse(
      "SERVICE_GATEWAY_HOST",
      `is ${found.SERVICE_GATEWAY_HOST}: keys may be sent to it only over https, which requires SERVICE_DOMAIN`,
    );
  }
}

function refuseAcmeSettings(found: Found, refuse: (name: keyof Found, message: string) => void): void {
  const isSet = (name: keyof Found) => found[name] !== undefined;
  for (const [name, other] of [
    ["SERVICE_ACME_EAB_KEY", "SERVICE_ACME_EAB_KEY_ID"],
    ["SERVICE_ACME_EAB_KEY_ID", "SERVICE_ACME_EAB_KEY"],
  ] as const) {
    if (isSet(other) && !isSet(name)) refuse(name, `is required with ${other}`);
  }
  if (!isSet("SERVICE_ACME_DIRECTORY")) return;
  if (!isSet("SERVICE_DOMAIN")) refuse("SERVICE_DOMAIN", "is required with SERVICE_ACME_DIRECTORY");
  if (isSet("SERVICE_TLS_CERT"))
    refuse("SERVICE_ACME_DIRECTORY", "conflicts with SERVICE_TLS_CERT: set only one of them");
  if (found.SERVICE_ACME_AGREE_TERMS !== "1") {
    refuse("SERVICE_ACME_AGREE_TERMS", "must be 1 with SERVICE_ACME_DIRECTORY: read the terms of the authority first");
  }
}

/** Not configurable: no legitimate client comes close to it. */
const CLIENT_MS = 30_000;
const MEGABYTE = 1024 * 1024;

export function toGatewayConfig(found: Found): GatewayConfig {
  const { SERVICE_TLS_CERT: certFile, SERVICE_TLS_KEY: keyFile } = found;
  return {
    domain: found.SERVICE_DOMAIN,
    host: found.SERVICE_GATEWAY_HOST,
    port: found.SERVICE_GATEWAY_PORT,
    tls: certFile === undefined || keyFile === undefined ? undefined : { cert_file: certFile, key_file: keyFile },
    acme: toAcmeConfig(found),
    access_log: found.SERVICE_ACCESS_LOG,
    limits: {
      body_bytes: found.SERVICE_MAX_BODY_MB * MEGABYTE,
      upload_bytes: found.SERVICE_MAX_UPLOAD_MB * MEGABYTE,
      request_ms: found.SERVICE_REQUEST_TIMEOUT_S * 1_000,
      client_ms: CLIENT_MS,
      in_flight: found.SERVICE_MAX_IN_FLIGHT,
      org_in_flight: found.SERVICE_MAX_ORG_IN_FLIGHT,
      memory_bytes: found.SERVICE_GATEWAY_MEMORY_MB * MEGABYTE,
      connections: found.SERVICE_MAX_CONNECTIONS,
      address_connections: found.SERVICE_MAX_ADDRESS_CONNECTIONS,
      key_rate: found.SERVICE_KEY_RATE,
    },
  };
}

function toAcmeConfig(found: Found): AcmeConfig | undefined {
  const { SERVICE_ACME_DIRECTORY: directory, SERVICE_ACME_EAB_KEY_ID: kid, SERVICE_ACME_EAB_KEY: key } = found;
  if (directory === undefined) return undefined;
  return {
    directory,
    email: found.SERVICE_ACME_EMAIL,
    ca_file: found.SERVICE_ACME_CA_FILE,
    eab: kid === undefined || key === undefined ? undefined : { kid, key: new Secret(key) },
    http_port: found.SERVICE_ACME_HTTP_PORT,
  };
}
