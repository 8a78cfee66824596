import { FILE_SETTINGS, SERVER_SETTINGS, type ServerSetting } from "../../apps/server/src/config/config.ts";
import { LIMIT_MEANINGS } from "./limit-meanings.ts";

interface SettingText {
  /** Of a number; empty for what has none. */
  readonly unit?: string;
  readonly meaning: string;
  /** In words, where the default is the machine's or is made. */
  readonly usual?: string;
}

/** A test fails when a setting is in none of these groups. */
const GROUPS: readonly (readonly [heading: string, settings: Partial<Record<ServerSetting, SettingText>>])[] = [
  [
    "The server",
    {
      SERVICE_HOME: { meaning: "folder in which everything lies; not in server.toml", usual: "`~/.service`" },
      SERVICE_ROLES: {
        meaning:
          "what this server does, of several on one database; `gateway` beside others is a process that it starts, alone it is this one",
      },
      SERVICE_HOST: { meaning: "address to listen at; another than this machine's own asks for `SERVICE_PUBLIC_URL`" },
      SERVICE_PORT: { meaning: "port to listen at; 0 chooses one, which the home keeps" },
      SERVICE_PUBLIC_URL: {
        meaning: "where people reach the server, by a proxy for example: links and cookies are made for it",
        usual: "the address that it listens at",
      },
      SERVICE_TRUSTED_PROXIES: {
        meaning:
          "addresses and networks of proxies whose `X-Forwarded-For` is believed (by the gateway `-Proto` and `-Host` too), and `loopback`, by commas",
      },
      SERVICE_METRICS_TOKEN: {
        meaning:
          "what a scraper shows as a bearer for `/metrics`, and an operator for the `problems` of `/health`, 32 characters or more",
        usual: "none: nobody is shown them",
      },
      SERVICE_LOG_LEVEL: { meaning: "`debug`, `info`, `warn` or `error`" },
      XDG_RUNTIME_DIR: {
        meaning: "folder for sockets, whose paths may not be long",
        usual: "the system's folder for temporary files",
      },
    },
  ],
  [
    "Its database",
    {
      SERVICE_DATABASE_URL: {
        meaning: "a PostgreSQL database of your own for the control plane",
        usual: "one that the server runs itself",
      },
      SERVICE_PG_BIN: { meaning: "folder of PostgreSQL's programs", usual: "those that came with the server" },
    },
  ],
  [
    "Keys of the server",
    {
      SERVICE_AUTH_SECRET: {
        meaning: "signs sessions and seals answers, 32 characters or more",
        usual: "made once, kept in the home",
      },
      SERVICE_MASTER_KEY: {
        meaning: "seals secrets, 32 bytes in base64: `openssl rand -base64 32`",
        usual: "made once, kept in the home",
      },
      SERVICE_MASTER_KEY_PREVIOUS: { meaning: "the former one while secrets are sealed anew" },
    },
  ],
  [
    "People",
    {
      SERVICE_SIGN_UP: { meaning: "who may make an account after the first one: `invitation` or `open`" },
      SERVICE_SESSION_DAYS: { unit: "days", meaning: "after which a browser's session ends, however often it is used" },
      SERVICE_CLI_SESSION_DAYS: {
        unit: "days",
        meaning: "after which a terminal's session ends, however often it is used",
      },
      SERVICE_CONFIRM_MINUTES: {
        unit: "minutes",
        meaning: "for which a sign-in counts for dangerous acts; a person confirms their identity again after that",
      },
      SERVICE_SMTP_URL: {
        meaning: "`smtp://` or `smtps://` of the mail server; links are to be handed on without one",
      },
      SERVICE_SMTP_INSECURE: { meaning: "1 sends mail to another machine without TLS; mails hold links that sign in" },
      SERVICE_MAIL_FROM: { meaning: "who mails are from; needed with `SERVICE_SMTP_URL`" },
      SERVICE_OIDC_ISSUER: { meaning: "address of an OpenID provider by which people sign in" },
      SERVICE_OIDC_CLIENT_ID: { meaning: "of this server at the provider; needed with the issuer" },
      SERVICE_OIDC_CLIENT_SECRET: { meaning: "of this server at the provider; needed with the issuer" },
      SERVICE_OIDC_NAME: { meaning: "what its button says" },
      SERVICE_DATABASE_QUOTA: { unit: "databases", meaning: "of a new organization" },
      SERVICE_ORGS_PER_PERSON: {
        unit: "organizations",
        meaning: "that a person may make; the first account of the server may make any number",
      },
      SERVICE_API_RATE: {
        unit: "requests a second",
        meaning:
          "of a signed-in caller to the control plane, four times as many at once and for an organization; `rate_limited` past it, 0 bounds nothing",
      },
      SERVICE_API_OPEN_REQUESTS: {
        unit: "requests",
        meaning: "of a caller that are open at a time, streams included; four times as many for an organization",
      },
      SERVICE_WEBHOOK_PRIVATE: { meaning: "1 lets webhooks post to this machine and to private networks, and by http" },
    },
  ],
  [
    "Databases and their pods",
    {
      SERVICE_PODS: {
        meaning:
          "who runs pods ([pods.md](pods.md)): `process`, `sandbox`, or `auto` for the sandbox where the machine has what it needs; under root nothing else takes its place",
      },
      SERVICE_EXPORT_PRIVATE: {
        meaning:
          "1 lets hosted services export rows to this machine and to private networks, where the driver of pods lets them reach these",
      },
      SERVICE_POD_USERS: {
        meaning:
          "user ids that nobody else on the machine has, first and count: one for each database, one for each organization's builds, and one for packages that are kept for all",
      },
      SERVICE_MIN_CPU: { unit: "cores", meaning: "least that a database's entry may ask for" },
      SERVICE_MAX_CPU: {
        unit: "cores",
        meaning: "most that it may ask for",
        usual: "a quarter of the machine's, at least 2",
      },
      SERVICE_MIN_MEMORY_MB: { unit: "MB", meaning: "least that a database's entry may ask for" },
      SERVICE_MAX_MEMORY_MB: {
        unit: "MB",
        meaning: "most that it may ask for",
        usual: "a quarter of the machine's, at least 2,048",
      },
      SERVICE_MIN_DISK_GB: { unit: "GB", meaning: "least that a database's entry may ask for" },
      SERVICE_MAX_DISK_GB: { unit: "GB", meaning: "most that it may ask for" },
      SERVICE_ORG_CPU: {
        unit: "cores",
        meaning: "that the databases of an organization ask for together",
        usual: "twice the most of one, or its databases with the defaults if that is more",
      },
      SERVICE_ORG_MEMORY_MB: {
        unit: "MB",
        meaning: "that they ask for together",
        usual: "twice the most of one, or its databases with the defaults if that is more",
      },
      SERVICE_ORG_DISK_GB: {
        unit: "GB",
        meaning: "that they ask for together",
        usual: "twice the most of one, or its databases with the defaults if that is more",
      },
      SERVICE_MIN_WORKERS: { unit: "processes", meaning: "least that a database's entry may ask for" },
      SERVICE_MAX_WORKERS: { unit: "processes", meaning: "most that it may ask for" },
      SERVICE_MAX_UPLOADS_GB: {
        unit: "GB",
        meaning: "project files of an organization together, those that its databases used in the last week included",
      },
      SERVICE_MAX_STORED_GB: {
        unit: "GB",
        meaning:
          "uploads, unpacked project files and images of an organization together; what is being written counts, a file at least 4 KB",
      },
      SERVICE_MAX_STORED_FILES: { unit: "files", meaning: "that these are, folders included" },
      SERVICE_DISK_FLOOR_GB: {
        unit: "GB",
        meaning: "free disk below which uploads, builds and updates are refused with `disk_full`; 0 refuses none",
      },
      SERVICE_KEEP_PODS: {
        meaning:
          "1: pods and the gateway go on when the server is told to stop, and its next start finds them; one that is killed leaves them in any case",
      },
      SERVICE_UNDELETE_DAYS: { unit: "days", meaning: "in which a deleted database can be undeleted" },
    },
  ],
  [
    "The gateway",
    {
      SERVICE_DOMAIN: {
        meaning: "each database is served at a host below it, by https alone: `https://<label>.<domain>/<service>`",
        usual: "none: each database has a port of its own on loopback",
      },
      SERVICE_GATEWAY_HOST: { meaning: "address to listen at; one that others reach asks for `SERVICE_DOMAIN`" },
      SERVICE_GATEWAY_PORT: { meaning: "port to listen at, with `SERVICE_DOMAIN`" },
      SERVICE_TLS_CERT: {
        meaning: "file with the certificates for `*.<domain>`, PEM, the own one first; read again when it changes",
      },
      SERVICE_TLS_KEY: { meaning: "file with their key, PEM" },
      SERVICE_ACME_DIRECTORY: {
        meaning:
          "address of an authority's ACME directory: certificates are ordered there, one for each host, instead of being read from files",
      },
      SERVICE_ACME_AGREE_TERMS: { meaning: "1: you have read the terms of that authority and agree to them" },
      SERVICE_ACME_EMAIL: { meaning: "where the authority writes" },
      SERVICE_ACME_CA_FILE: {
        meaning: "certificates (PEM) of whoever vouches for the directory's own https, beside the usual ones",
      },
      SERVICE_ACME_EAB_KEY_ID: {
        meaning: "name of the key by which the authority knows its customer, where it asks for one",
      },
      SERVICE_ACME_EAB_KEY: { meaning: "that key, as the authority has given it" },
      SERVICE_ACME_HTTP_PORT: {
        meaning: "port to which port 80 of the hosts leads, for an authority that looks there",
        usual: "none: it looks at the gateway's own port, to which 443 has to lead",
      },
      SERVICE_ACCESS_LOG: {
        meaning: "which requests have a line in the log: `all`, `errors` (answered with 500 or more) or `off`",
      },
      SERVICE_MAX_BODY_MB: { unit: "MB", meaning: "a request's body, unless it is an upload" },
      SERVICE_MAX_UPLOAD_MB: {
        unit: "MB",
        meaning: "an upload: a body in parts, or of a content type that is no JSON",
      },
      SERVICE_REQUEST_TIMEOUT_S: {
        unit: "s",
        meaning: "how long a service may be silent, before it begins its answer and within it",
      },
      SERVICE_MAX_IN_FLIGHT: { unit: "requests", meaning: "at once in one service, for each gateway" },
      SERVICE_MAX_ORG_IN_FLIGHT: {
        unit: "requests",
        meaning: "at once in all services of one organization, for each gateway",
      },
      SERVICE_GATEWAY_MEMORY_MB: {
        unit: "MB",
        meaning: "bodies and answers that one gateway keeps in memory; one organization has a quarter of it",
      },
      SERVICE_MAX_CONNECTIONS: { unit: "connections", meaning: "at once to one gateway" },
      SERVICE_MAX_ADDRESS_CONNECTIONS: {
        unit: "connections",
        meaning: "of these, of one address (of IPv6: one /64 network); `SERVICE_TRUSTED_PROXIES` have no such limit",
      },
      SERVICE_KEY_RATE: {
        unit: "requests a second",
        meaning: "of one key to one database, for each gateway; 0 bounds none",
      },
    },
  ],
  [
    "Limits of hosted services",
    {
      SERVICE_FUNCTION_TIMEOUT_MS: { unit: "ms", meaning: LIMIT_MEANINGS.function_timeout_ms },
      SERVICE_INSERT_ROWS: { unit: "rows", meaning: LIMIT_MEANINGS.insert_rows },
      SERVICE_STATEMENT_TIMEOUT_MS: { unit: "ms", meaning: LIMIT_MEANINGS.statement_timeout_ms },
      SERVICE_RESULT_ROWS: { unit: "rows", meaning: LIMIT_MEANINGS.result_rows },
      SERVICE_RESULT_BYTES: { unit: "bytes", meaning: LIMIT_MEANINGS.result_bytes },
      SERVICE_ROWS_IN_FLIGHT: { unit: "rows", meaning: LIMIT_MEANINGS.rows_in_flight },
      SERVICE_ROUTE_REQUESTS: { unit: "requests", meaning: LIMIT_MEANINGS.route_requests },
      SERVICE_LIVE_QUERIES: { unit: "streams", meaning: LIMIT_MEANINGS.live_queries },
      SERVICE_LIVE_BYTES: { unit: "bytes", meaning: LIMIT_MEANINGS.live_bytes },
      SERVICE_IDEMPOTENCY_KEEP_S: { unit: "s", meaning: LIMIT_MEANINGS.idempotency_keep_s },
      SERVICE_BACKGROUND_JOBS: { unit: "jobs", meaning: LIMIT_MEANINGS.background_jobs },
      SERVICE_BACKGROUND_AT_ONCE: { unit: "jobs", meaning: LIMIT_MEANINGS.background_at_once },
    },
  ],
  [
    "Builds of images",
    {
      SERVICE_BUILD_CA_FILE: {
        meaning: "certificates (PEM) of an authority that your proxy or package index shows",
        usual: "that of `SSL_CERT_FILE`",
      },
      SERVICE_BUILD_HOSTS: {
        meaning:
          "`host:port` by commas that builds may reach although they lie in a private network: your package index or proxy",
      },
      SERVICE_SHARED_INDEX: {
        meaning:
          "packages of this index are fetched and kept once for all organizations (driver `sandbox`); it asks nobody for credentials. `none`: for each of them",
      },
      SERVICE_SHARED_INDEX_GB: {
        unit: "GB",
        meaning:
          "what is kept of it; when it is more, it is let go and fetched again as builds need it. Images keep their files",
      },
      SERVICE_PYTHON_DOWNLOADS: { meaning: "0: images are made of Pythons that the machine has, and of no others" },
    },
  ],
];

/** docs/settings.md: every setting of the server, with the defaults of the schema that reads them. @throws when one is told twice or not at all */
export function settingsPage(generated: string): string {
  const told = GROUPS.flatMap(([, settings]) => Object.keys(settings));
  const names = Object.keys(SERVER_SETTINGS);
  const wrong = [
    ...names.filter((name) => !told.includes(name)),
    ...told.filter((name, at) => told.indexOf(name) !== at),
  ];
  if (wrong.length > 0) throw new Error(`The page of settings does not tell each of these once: ${wrong.join(", ")}`);
  const lines = [
    "# Settings of the server",
    "",
    generated,
    "",
    "They are read from the environment when the server starts, or from `server.toml` in its home, which has them in lower case and without",
    "`SERVICE_`: `max_memory_mb = 8192`. The environment goes before the file. What is wrong with them is told all at once, and the server does",
    `not start. A secret may lie in a file that \`NAME_FILE\` names: ${FILE_SETTINGS.map((name) => `\`${name}\``).join(", ")}.`,
    "Those of a person's own daemon are in [limits.md](limits.md). Limits of hosted services hold for a pod from its next start on.",
  ];
  for (const [heading, settings] of GROUPS) {
    lines.push("", `## ${heading}`, "", "| setting | default | unit | meaning |", "|---|---|---|---|");
    for (const [name, text] of Object.entries(settings)) {
      const { meaning, unit = "", usual = defaultOf(name as ServerSetting) } = text;
      lines.push(`| \`${name}\` | ${usual} | ${unit} | ${meaning} |`);
    }
  }
  lines.push(
    "",
    "Builds reach the network as the server's own environment says: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, and by",
    "`UV_DEFAULT_INDEX` (or `UV_INDEX_URL`) the package index that is the usual one.",
  );
  return `${lines.join("\n")}\n`;
}

function defaultOf(name: ServerSetting): string {
  const parsed = SERVER_SETTINGS[name].safeParse(undefined);
  if (!parsed.success || parsed.data === undefined || parsed.data === "") return "";
  const { data } = parsed;
  if (Array.isArray(data)) return data.length === 0 ? "" : `\`${data.join(",")}\``;
  if (typeof data === "object") return `\`${Object.values(data).join(":")}\``;
  return `\`${data}\``;
}
