import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { Secret } from "@appdb/system/secret";
import { traceVariables } from "@appdb/system/traces/open-tracer";
import { parse as parseToml } from "smol-toml";
import { z } from "zod";
import { type BuildsConfig, buildSettings, toBuildsConfig } from "./config-builds.ts";
import { type GatewayConfig, gatewaySettings, refuseGatewaySettings, toGatewayConfig } from "./config-gateway.ts";
import { type IdentityConfig, identitySettings, needsMailTls, toIdentityConfig } from "./config-identity.ts";
import { type MediaConfig, mediaSettings, refuseCrossedMedia, toMediaConfig } from "./config-media.ts";
import { type PodsConfig, podSettings, refuseCrossedBounds, toPodsConfig } from "./config-pods.ts";
import { type QuotasConfig, quotaSettings, toQuotasConfig } from "./config-quotas.ts";

export const SERVER_ROLES = ["control-plane", "reconciler", "gateway"] as const;
export type ServerRole = (typeof SERVER_ROLES)[number];

/** The server's files, relative to the home. */
export const SERVER_PATHS = {
  settings: "server.toml",
  /** `{url, pid}` of this home's server. It exists while the server listens, so that the CLI finds it. */
  running: "server.json",
  locks: "server/locks",
  postgres: "server/postgres",
  postgresLog: "server/logs/postgres.log",
  port: "server/port",
  authSecret: "server/auth-secret",
  masterKey: "server/master-key",
  /** The previous master key. It exists until nothing is encrypted under it. */
  masterKeyPrevious: "server/master-key.previous",
  /** The master key that the next start takes. */
  masterKeyNext: "server/master-key.next",
  /** The sign-up link of the first account, if a journal stores the standard output. */
  firstAccount: "server/first-account",
  /** Identifies the home: the pods of one control plane live in one home. */
  homeId: "server/home-id",
  /** `<database id>/`: the pod's `data` (cluster and stored runtimes) and `log`. */
  databases: "server/databases",
  /** `<database id>/`: the media store of a database. The application's code sees its path, which names no other folder. */
  media: "server/media",
  /** The address of the bucket that has files of this home's databases. */
  mediaUrl: "server/media-url",
  /** Logs and scratch files of services, below the id of their database. */
  services: "server/services",
  /** Storage of databases while it moves from its place in version 0.8.0. */
  movingDatabases: "server/moving-databases",
  /** `<database id>/<tree digest>/`: project files, read-only. */
  files: "server/files",
  /** `<org id>/<environment hash>/`: Python environments, read-only. */
  images: "server/images",
  /** Caches of builds. */
  buildCaches: "server/build-caches",
  /** Python versions that uv downloaded. */
  pythons: "server/pythons",
  /** `<org id>/<ab>/<sha256>` */
  blobs: "server/blobs",
  /** A PostgreSQL cluster that is made once and copied for each database. */
  template: "server/template",
  /** Files of the pod driver. */
  pods: "server/pods",
  /** The last routes, for a gateway that starts while PostgreSQL is down. */
  gateway: "server/gateway.json",
} as const;

const KEY_BYTES = 32;
const SECRET_CHARACTERS = 32;

const empty = (value: unknown) => (value === "" ? undefined : value);
const text = z.preprocess(empty, z.string().optional());
const count = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().int().min(min).max(max).default(fallback));
const roles = z.preprocess(
  empty,
  z
    .string()
    .default(SERVER_ROLES.join(","))
    .transform((list) => list.split(",").map((name) => name.trim()))
    .pipe(z.array(z.enum(SERVER_ROLES)).min(1)),
);
const proxies = z
  .string()
  .default("")
  .transform((list) =>
    list
      .split(",")
      .map((address) => address.trim())
      .filter((address) => address !== ""),
  )
  .refine((list) => list.every(isProxy), {
    error: "expected addresses, networks (10.0.0.0/8) and loopback",
  });

function isProxy(text: string): boolean {
  if (["loopback", "linklocal", "uniquelocal"].includes(text)) return true;
  const [address = "", bits, ...rest] = text.split("/");
  const max = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return max > 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= max));
}

const masterKey = z.preprocess(
  empty,
  z
    .string()
    .refine((value) => /^[A-Za-z0-9+/]+=*$/.test(value) && Buffer.from(value, "base64").length === KEY_BYTES, {
      error: `needs ${KEY_BYTES} bytes in base64: openssl rand -base64 ${KEY_BYTES}`,
    })
    .optional(),
);
const origin = z.preprocess(
  empty,
  z
    .url({ protocol: /^https?$/, error: "is not an http or https address" })
    .refine((value) => !URL.canParse(value) || new URL(value).pathname === "/", { error: "must not have a path" })
    .transform((value) => new URL(value).origin)
    .optional(),
);

/** All settings, by the names of their environment variables. In server.toml, they are lower case without SERVICE_. */
const settingsSchema = z
  .object({
    SERVICE_HOME: text,
    /** Use this PostgreSQL database instead of the embedded one. */
    SERVICE_DATABASE_URL: z.preprocess(
      empty,
      z.url({ protocol: /^postgres(ql)?$/, error: "is not a postgresql:// address" }).optional(),
    ),
    SERVICE_PG_BIN: text,
    SERVICE_ROLES: roles,
    SERVICE_HOST: z.preprocess(empty, z.string().default("127.0.0.1")),
    /** 0 picks a free port, which the home keeps. */
    SERVICE_PORT: count(0, 0, 65_535),
    /** The address by which people reach the server, for example through a proxy. Links in e-mails start with it. */
    SERVICE_PUBLIC_URL: origin,
    SERVICE_SIGN_UP: z.preprocess(empty, z.enum(["invitation", "open"]).default("invitation")),
    SERVICE_AUTH_SECRET: z.preprocess(
      empty,
      z.string().min(SECRET_CHARACTERS, `needs ${SECRET_CHARACTERS} characters`).optional(),
    ),
    SERVICE_MASTER_KEY: masterKey,
    SERVICE_MASTER_KEY_PREVIOUS: masterKey,
    SERVICE_SMTP_URL: z.preprocess(
      empty,
      z.url({ protocol: /^smtps?$/, error: "is not an smtp:// or smtps:// address" }).optional(),
    ),
    SERVICE_MAIL_FROM: text,
    SERVICE_OIDC_ISSUER: z.preprocess(
      empty,
      z.url({ protocol: /^https?$/, error: "is not an http or https address" }).optional(),
    ),
    SERVICE_OIDC_CLIENT_ID: text,
    SERVICE_OIDC_CLIENT_SECRET: text,
    SERVICE_OIDC_NAME: z.preprocess(empty, z.string().default("Single sign-on")),
    ...identitySettings,
    SERVICE_DATABASE_QUOTA: count(3, 1, 10_000),
    ...podSettings,
    ...mediaSettings,
    ...quotaSettings,
    ...buildSettings,
    ...gatewaySettings,
    /** Addresses of proxies whose X-Forwarded-For header is trusted. */
    SERVICE_TRUSTED_PROXIES: proxies,
    /** 1 allows webhooks to post to this machine, to private networks and over http. */
    SERVICE_WEBHOOK_PRIVATE: z.preprocess(empty, z.enum(["0", "1"]).default("0")),
    /** 1 allows hosted services to export rows to this machine and to private networks. */
    SERVICE_EXPORT_PRIVATE: z.preprocess(empty, z.enum(["0", "1"]).default("0")),
    /** Bearer token for `/metrics` and the details of `/health`. If unset, both are unavailable. */
    SERVICE_METRICS_TOKEN: z.preprocess(
      empty,
      z.string().min(SECRET_CHARACTERS, `needs ${SECRET_CHARACTERS} characters`).optional(),
    ),
    SERVICE_LOG_LEVEL: z.preprocess(empty, z.enum(["debug", "info", "warn", "error"]).default("info")),
    XDG_RUNTIME_DIR: text,
  })
  .superRefine((found, context) => {
    const needs = (name: keyof typeof found, other: keyof typeof found) => {
      if (found[other] === undefined || found[name] !== undefined) return;
      context.addIssue({ code: "custom", path: [name], message: `is required with ${other}` });
    };
    needs("SERVICE_MAIL_FROM", "SERVICE_SMTP_URL");
    needs("SERVICE_OIDC_CLIENT_ID", "SERVICE_OIDC_ISSUER");
    needs("SERVICE_OIDC_CLIENT_SECRET", "SERVICE_OIDC_ISSUER");
    refuseCrossedBounds(found, context);
    refuseCrossedMedia(found, context);
    refuseGatewaySettings(found, found.SERVICE_ROLES.includes("gateway"), context);
    if (!LOOPBACK.includes(found.SERVICE_HOST) && found.SERVICE_PUBLIC_URL === undefined) {
      const message = `is required when SERVICE_HOST is ${found.SERVICE_HOST}: links and cookies need it`;
      context.addIssue({ code: "custom", path: ["SERVICE_PUBLIC_URL"], message });
    }
  });

/** The parser of each setting, by name. docs/settings.md is generated from it. */
export const SERVER_SETTINGS = settingsSchema.shape;
export type ServerSetting = keyof typeof SERVER_SETTINGS;

const LOOPBACK = ["127.0.0.1", "::1", "localhost"];
/** Settings that NAME_FILE can read from a file. */
export const FILE_SETTINGS = [
  "SERVICE_AUTH_SECRET",
  "SERVICE_MASTER_KEY",
  "SERVICE_MASTER_KEY_PREVIOUS",
  "SERVICE_OIDC_CLIENT_SECRET",
  "SERVICE_DATABASE_URL",
  "SERVICE_SMTP_URL",
  "SERVICE_ACME_EAB_KEY",
  "SERVICE_METRICS_TOKEN",
] as const;

export interface ServerConfig {
  readonly home: string;
  readonly roles: readonly ServerRole[];
  readonly host: string;
  readonly port: number;
  readonly public_url: string | undefined;
  readonly database: { readonly url: Secret | undefined; readonly pg_bin: string | undefined };
  readonly runtime_base: string | undefined;
  readonly sign_up: "invitation" | "open";
  readonly auth_secret: Secret | undefined;
  readonly master_key: Secret | undefined;
  readonly master_key_previous: Secret | undefined;
  readonly mail: { readonly url: Secret; readonly from: string; readonly needs_tls: boolean } | undefined;
  readonly identity: IdentityConfig;
  readonly oidc: OidcConfig | undefined;
  readonly database_quota: number;
  readonly pods: PodsConfig;
  /** Undefined: the media stores of databases are in the home. */
  readonly media: MediaConfig | undefined;
  readonly quotas: QuotasConfig;
  readonly builds: BuildsConfig;
  readonly gateway: GatewayConfig;
  readonly trusted_proxies: readonly string[];
  readonly webhook_private: boolean;
  readonly export_private: boolean;
  readonly metrics_token: Secret | undefined;
  /** systemd's identifier of the journal stream of the standard output. */
  readonly journal_stream: string | undefined;
  /** `deploy/keep-server.sh` reads this file to check that the event loop runs. */
  readonly heartbeat_file: string | undefined;
  readonly log_level: "debug" | "info" | "warn" | "error";
  /** OpenTelemetry variables of the gateway's traces. Empty if tracing is off. */
  readonly traces: Readonly<Record<string, Secret>>;
}

export interface OidcConfig {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: Secret;
  readonly name: string;
}

/**
 * Reads the settings from the environment, then from the home's `server.toml`. Reports all problems together.
 * @throws config_invalid with every invalid setting
 */
export function readServerConfig(env: Readonly<Record<string, string | undefined>> = process.env): ServerConfig {
  const home = resolve(env.SERVICE_HOME || join(homedir(), ".service"));
  const problems: Problem[] = [];
  const values: Record<string, unknown> = { ...readSettingsFile(home, problems) };
  for (const [name, value] of Object.entries(env)) if (value !== undefined && value !== "") values[name] = value;
  for (const name of FILE_SETTINGS) readFileOf(name, values, problems);
  const parsed = settingsSchema.safeParse(values);
  for (const issue of parsed.error?.issues ?? []) {
    problems.push({ setting: issue.path.join("."), what: issue.message });
  }
  if (!parsed.success || problems.length > 0) {
    throw appError("config_invalid", {
      detail: `Invalid server settings: ${problems.map(({ setting, what }) => `${setting}: ${what}`).join("; ")}.`,
      hint: `Correct or unset these settings in the environment or in ${join(home, SERVER_PATHS.settings)}.`,
      meta: { settings: problems.map(({ setting }) => setting) },
    });
  }
  return toConfig(home, parsed.data, env);
}

interface Problem {
  readonly setting: string;
  readonly what: string;
}

function toConfig(
  home: string,
  found: z.output<typeof settingsSchema>,
  env: Readonly<Record<string, string | undefined>>,
): ServerConfig {
  const secret = (value: string | undefined) => (value === undefined ? undefined : new Secret(value));
  const { SERVICE_SMTP_URL: smtp, SERVICE_MAIL_FROM: from, SERVICE_OIDC_ISSUER: issuer } = found;
  return {
    home,
    roles: found.SERVICE_ROLES,
    host: found.SERVICE_HOST,
    port: found.SERVICE_PORT,
    public_url: found.SERVICE_PUBLIC_URL,
    database: { url: secret(found.SERVICE_DATABASE_URL), pg_bin: found.SERVICE_PG_BIN },
    runtime_base: found.XDG_RUNTIME_DIR,
    sign_up: found.SERVICE_SIGN_UP,
    auth_secret: secret(found.SERVICE_AUTH_SECRET),
    master_key: secret(found.SERVICE_MASTER_KEY),
    master_key_previous: secret(found.SERVICE_MASTER_KEY_PREVIOUS),
    mail: smtp === undefined || from === undefined ? undefined : toMail(smtp, from, found.SERVICE_SMTP_INSECURE),
    identity: toIdentityConfig(found),
    oidc:
      issuer === undefined
        ? undefined
        : {
            issuer,
            client_id: found.SERVICE_OIDC_CLIENT_ID ?? "",
            client_secret: new Secret(found.SERVICE_OIDC_CLIENT_SECRET ?? ""),
            name: found.SERVICE_OIDC_NAME,
          },
    database_quota: found.SERVICE_DATABASE_QUOTA,
    pods: toPodsConfig(found),
    media: toMediaConfig(found, env),
    quotas: toQuotasConfig(found),
    builds: toBuildsConfig(found, env),
    gateway: toGatewayConfig(found),
    trusted_proxies: found.SERVICE_TRUSTED_PROXIES,
    webhook_private: found.SERVICE_WEBHOOK_PRIVATE === "1",
    export_private: found.SERVICE_EXPORT_PRIVATE === "1",
    metrics_token: secret(found.SERVICE_METRICS_TOKEN),
    journal_stream: env["JOURNAL_STREAM"],
    heartbeat_file: env["KEEPER_HEARTBEAT_FILE"],
    log_level: found.SERVICE_LOG_LEVEL,
    traces: Object.fromEntries(Object.entries(traceVariables(env)).map(([name, value]) => [name, new Secret(value)])),
  };
}

function toMail(smtp: string, from: string, insecure: "0" | "1"): NonNullable<ServerConfig["mail"]> {
  const url = new Secret(smtp);
  return { url, from, needs_tls: needsMailTls(url, insecure) };
}

/** The gateway process's additional environment: its home, and the address of the home's own PostgreSQL. */
export function gatewayEnvironment(
  config: { readonly home: string; readonly embedded_dsn: string | undefined },
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string | undefined> {
  return {
    ...env,
    SERVICE_HOME: config.home,
    SERVICE_ROLES: "gateway",
    ...(config.embedded_dsn === undefined ? {} : { SERVICE_DATABASE_URL: config.embedded_dsn }),
  };
}

/** The settings in `server.toml`, with the names of environment variables. */
function readSettingsFile(home: string, problems: Problem[]): Record<string, string> {
  const path = join(home, SERVER_PATHS.settings);
  if (!existsSync(path)) return {};
  const found: Record<string, string> = {};
  try {
    for (const [key, value] of Object.entries(parseToml(readFileSync(path, "utf8")))) {
      const name = `SERVICE_${key.toUpperCase()}`;
      const isKnown = name in settingsSchema.shape || FILE_SETTINGS.some((file) => name === `${file}_FILE`);
      if (!isKnown || name === "SERVICE_HOME") problems.push({ setting: key, what: `is not a setting of ${path}` });
      else if (typeof value === "object") problems.push({ setting: key, what: "must be text or a number" });
      else found[name] = String(value);
    }
  } catch (error) {
    problems.push({
      setting: path,
      what: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error),
    });
  }
  return found;
}

function readFileOf(name: (typeof FILE_SETTINGS)[number], values: Record<string, unknown>, problems: Problem[]): void {
  const path = values[`${name}_FILE`];
  if (typeof path !== "string" || path === "") return;
  if (values[name] !== undefined && values[name] !== "") {
    problems.push({ setting: name, what: `conflicts with ${name}_FILE: set only one of them` });
    return;
  }
  try {
    values[name] = readFileSync(path, "utf8").trim();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    problems.push({ setting: `${name}_FILE`, what: `cannot read ${path}${code}` });
  }
}
