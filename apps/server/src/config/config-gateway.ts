import { Secret } from "@appdb/system/secret";
import { z } from "zod";

const HTTPS_PORT = 443;
const LOOPBACK = ["127.0.0.1", "::1", "localhost"];
/** A label of at most 63 characters is put before it, and a name has at most 253. */
const DOMAIN = /^(?=.{1,236}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

const empty = (value: unknown) => (value === "" ? undefined : value);
const text = z.preprocess(empty, z.string().optional());
const count = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().int().min(min).max(max).default(fallback));

/** Settings of the gateway, under the names of the environment. */
export const gatewaySettings = {
  /** Each database is served at a host below it, by https alone; without it at a port of its own on loopback. */
  SERVICE_DOMAIN: z.preprocess(
    empty,
    z.string().toLowerCase().regex(DOMAIN, "is not a domain, such as apps.example.com").optional(),
  ),
  SERVICE_GATEWAY_HOST: z.preprocess(empty, z.string().default("127.0.0.1")),
  /** With a domain; addresses that people get name it, unless it is the usual one. */
  SERVICE_GATEWAY_PORT: count(HTTPS_PORT, 1, 65_535),
  /** A line of the log for each request, for those that failed on our side, or for none. */
  SERVICE_ACCESS_LOG: z.preprocess(empty, z.enum(["all", "errors", "off"]).default("errors")),
  /** Files, PEM: the chain, and its key. Read again when they change. */
  SERVICE_TLS_CERT: text,
  SERVICE_TLS_KEY: text,
  /** Certificates are ordered there, one for each host, instead of being read from files. */
  SERVICE_ACME_DIRECTORY: z.preprocess(
    empty,
    z.url({ protocol: /^https$/, error: "is not an https address" }).optional(),
  ),
  /** Where the authority writes when something is wrong. */
  SERVICE_ACME_EMAIL: z.preprocess(empty, z.email({ error: "is not a mail address" }).optional()),
  /** 1: the terms of the authority are agreed to. */
  SERVICE_ACME_AGREE_TERMS: z.preprocess(empty, z.enum(["0", "1"]).default("0")),
  /** File, PEM: who vouches for the directory itself, beside the usual authorities. */
  SERVICE_ACME_CA_FILE: text,
  /** What an authority has given that knows its customers. */
  SERVICE_ACME_EAB_KEY_ID: text,
  SERVICE_ACME_EAB_KEY: text,
  /** Where an authority's look at port 80 arrives; without it, it looks at the gateway's own port. */
  SERVICE_ACME_HTTP_PORT: z.preprocess(empty, z.coerce.number().int().min(1).max(65_535).optional()),
  /** Of a body that is no upload. */
  SERVICE_MAX_BODY_MB: count(16, 1, 1_024),
  /** Of a body that is an upload. */
  SERVICE_MAX_UPLOAD_MB: count(1_024, 1, 1_048_576),
  /** How long a service may be silent: before it begins its answer, and within it. */
  SERVICE_REQUEST_TIMEOUT_S: count(300, 1, 86_400),
  /** Of one service, in one gateway. */
  SERVICE_MAX_IN_FLIGHT: count(4_096, 1, 1_000_000),
  /** Of the services of one organization, in one gateway. */
  SERVICE_MAX_ORG_IN_FLIGHT: count(16_384, 1, 1_000_000),
  /** Bodies and answers that one gateway keeps in memory; one organization has a quarter of it. */
  SERVICE_GATEWAY_MEMORY_MB: count(256, 16, 1_048_576),
  /** Connections to one gateway. */
  SERVICE_MAX_CONNECTIONS: count(16_384, 1, 1_000_000),
  /** Of these, those of one address; trusted proxies have no such bound. */
  SERVICE_MAX_ADDRESS_CONNECTIONS: count(1_024, 1, 1_000_000),
  /** Requests a second of one key to one database, in one gateway; 0 bounds none. */
  SERVICE_KEY_RATE: count(10_000, 0, 1_000_000),
} as const;

type Found = z.output<z.ZodObject<typeof gatewaySettings>>;

export interface GatewayLimits {
  readonly body_bytes: number;
  readonly upload_bytes: number;
  readonly request_ms: number;
  /** How long a request's headers may take, and its short body, and how long a client may be silent within a long one. */
  readonly client_ms: number;
  readonly in_flight: number;
  readonly org_in_flight: number;
  readonly memory_bytes: number;
  readonly connections: number;
  readonly address_connections: number;
  readonly key_rate: number;
}

/** Where certificates are ordered, and by what. */
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

/** Adds what is wrong between the settings of the gateway; `is_run` says whether this process is one. */
export function refuseGatewaySettings(found: Found, isRun: boolean, context: z.RefinementCtx): void {
  const refuse = (name: keyof Found, message: string) => context.addIssue({ code: "custom", path: [name], message });
  for (const [name, other] of [
    ["SERVICE_TLS_CERT", "SERVICE_TLS_KEY"],
    ["SERVICE_TLS_KEY", "SERVICE_TLS_CERT"],
  ] as const) {
    if (found[name] !== undefined) continue;
    if (found[other] !== undefined) refuse(name, `is needed with ${other}`);
    else if (found.SERVICE_DOMAIN !== undefined && isRun && found.SERVICE_ACME_DIRECTORY === undefined) {
      refuse(name, "is needed with SERVICE_DOMAIN, or SERVICE_ACME_DIRECTORY instead");
    }
  }
  refuseAcmeSettings(found, refuse);
  if (found.SERVICE_DOMAIN === undefined && !LOOPBACK.includes(found.SERVICE_GATEWAY_HOST)) {
    refuse(
      "SERVICE_GATEWAY_HOST",
      `is ${found.SERVICE_GATEWAY_HOST}: keys travel to it by https alone, which needs SERVICE_DOMAIN`,
    );
  }
}

function refuseAcmeSettings(found: Found, refuse: (name: keyof Found, message: string) => void): void {
  const isSet = (name: keyof Found) => found[name] !== undefined;
  for (const [name, other] of [
    ["SERVICE_ACME_EAB_KEY", "SERVICE_ACME_EAB_KEY_ID"],
    ["SERVICE_ACME_EAB_KEY_ID", "SERVICE_ACME_EAB_KEY"],
  ] as const) {
    if (isSet(other) && !isSet(name)) refuse(name, `is needed with ${other}`);
  }
  if (!isSet("SERVICE_ACME_DIRECTORY")) return;
  if (!isSet("SERVICE_DOMAIN")) refuse("SERVICE_DOMAIN", "is needed with SERVICE_ACME_DIRECTORY");
  if (isSet("SERVICE_TLS_CERT")) refuse("SERVICE_ACME_DIRECTORY", "is given, and SERVICE_TLS_CERT as well");
  if (found.SERVICE_ACME_AGREE_TERMS !== "1") {
    refuse(
      "SERVICE_ACME_AGREE_TERMS",
      "has to be 1 with SERVICE_ACME_DIRECTORY: read the terms of the authority first",
    );
  }
}

/** No setting: no honest client is near it. */
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
