import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { AppError } from "@appdb/contract/errors";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readServerConfig } from "./config.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-config-"));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const read = (env: Record<string, string> = {}) => readServerConfig({ SERVICE_HOME: home, ...env });

function refusal(env: Record<string, string>): AppError {
  try {
    read(env);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("The settings were accepted.");
}

test("has defaults for all settings, and treats an empty variable as unset", () => {
  expect(read({ SERVICE_PORT: "", SERVICE_SMTP_URL: "", SERVICE_STATEMENT_TIMEOUT_MS: "5000" })).toMatchObject({
    roles: ["control-plane", "reconciler", "gateway"],
    host: "127.0.0.1",
    port: 0,
    public_url: undefined,
    sign_up: "invitation",
    mail: undefined,
    oidc: undefined,
    database_quota: 3,
    pods: {
      driver: "auto",
      bounds: { least: { cpu: 0.1, memory_mb: 256, disk_gb: 1, workers: 1 }, most: { disk_gb: 100, workers: 16 } },
      undelete_days: 7,
      limits: { statement_timeout_ms: 5_000, result_rows: 100_000, route_requests: 2_048 },
      are_kept: false,
    },
    trusted_proxies: [],
    gateway: { domain: undefined, host: "127.0.0.1", port: 443, tls: undefined, limits: { body_bytes: 16_777_216 } },
  });
});

test("reports all problems together, by setting, without the values", () => {
  const { message, meta } = refusal({
    SERVICE_PORT: "70000",
    SERVICE_ROLES: "control-plane,king",
    SERVICE_PUBLIC_URL: "ftp://example.com",
    SERVICE_MASTER_KEY: "short secret",
    SERVICE_DATABASE_URL: "mysql://user:hidden@host/db",
    SERVICE_AUTH_SECRET: "short",
  });
  for (const name of meta["settings"] as string[]) expect(message).toContain(name.split(".")[0]);
  expect(meta["settings"]).toHaveLength(6);
  expect(message).not.toMatch(/short secret|hidden/);
});

const ACME = {
  SERVICE_DOMAIN: "apps.example",
  SERVICE_ACME_DIRECTORY: "https://ca.example/dir",
  SERVICE_ACME_AGREE_TERMS: "1",
};
test.each([
  [{ SERVICE_SMTP_URL: "smtp://localhost" }, "SERVICE_MAIL_FROM: is required with SERVICE_SMTP_URL"],
  [
    { SERVICE_MIN_CPU: "4", SERVICE_MAX_CPU: "2" },
    "SERVICE_MIN_CPU: is 4, and SERVICE_MAX_CPU is 2: no database can meet both",
  ],
  [{ SERVICE_MIN_DISK_GB: "0" }, "SERVICE_MIN_DISK_GB"],
  [{ SERVICE_ROUTE_REQUESTS: "0" }, "SERVICE_ROUTE_REQUESTS: is '0', expected a whole number of at least 1"],
  [{ SERVICE_PODS: "kubernetes" }, "SERVICE_PODS"],
  [{ SERVICE_POD_USERS: "200000-300000" }, "SERVICE_POD_USERS: expected FIRST:COUNT, for example 200000:100000"],
  [{ SERVICE_POD_USERS: "0:10" }, "SERVICE_POD_USERS: is not within 1000 to 4294967294"],
  [{ SERVICE_POD_USERS: "60000:10000" }, "SERVICE_POD_USERS: must not include the users 65534 and 65535"],
  [{ SERVICE_OIDC_ISSUER: "https://id.example" }, "SERVICE_OIDC_CLIENT_ID: is required with SERVICE_OIDC_ISSUER"],
  [{ SERVICE_TRUSTED_PROXIES: "10.0.0.1, the proxy" }, "SERVICE_TRUSTED_PROXIES: expected addresses"],
  [{ SERVICE_TRUSTED_PROXIES: "10.0.0.0/33" }, "SERVICE_TRUSTED_PROXIES: expected addresses"],
  [{ SERVICE_HOST: "0.0.0.0" }, "SERVICE_PUBLIC_URL: is required when SERVICE_HOST is 0.0.0.0"],
  [{ SERVICE_PUBLIC_URL: "https://example.com/app" }, "SERVICE_PUBLIC_URL: must not have a path"],
  [{ SERVICE_DOMAIN: "https://apps.example" }, "SERVICE_DOMAIN: is not a domain"],
  [{ SERVICE_DOMAIN: "apps.example" }, "SERVICE_TLS_CERT: is required with SERVICE_DOMAIN"],
  [{ ...ACME, SERVICE_ACME_AGREE_TERMS: "" }, "SERVICE_ACME_AGREE_TERMS: must be 1 with SERVICE_ACME_DIRECTORY"],
  [{ ...ACME, SERVICE_DOMAIN: "" }, "SERVICE_DOMAIN: is required with SERVICE_ACME_DIRECTORY"],
  [
    { ...ACME, SERVICE_TLS_CERT: "/c", SERVICE_TLS_KEY: "/k" },
    "SERVICE_ACME_DIRECTORY: conflicts with SERVICE_TLS_CERT",
  ],
  [{ ...ACME, SERVICE_ACME_DIRECTORY: "http://ca.example/dir" }, "SERVICE_ACME_DIRECTORY: is not an https address"],
  [{ ...ACME, SERVICE_ACME_EAB_KEY: "abc" }, "SERVICE_ACME_EAB_KEY_ID: is required with SERVICE_ACME_EAB_KEY"],
  [{ SERVICE_TLS_CERT: "/cert.pem" }, "SERVICE_TLS_KEY: is required with SERVICE_TLS_CERT"],
  [{ SERVICE_GATEWAY_HOST: "0.0.0.0" }, "SERVICE_GATEWAY_HOST: is 0.0.0.0: keys may be sent to it only over https"],
  [{ SERVICE_MASTER_KEY_FILE: "/none/there" }, "SERVICE_MASTER_KEY_FILE: cannot read /none/there (ENOENT)"],
])("refuses %j", (env, text) => {
  expect(refusal(env).message).toContain(text);
});

test("reads secrets from files, and refuses a variable in addition", () => {
  const file = join(home, "secret");
  writeFileSync(file, `${"s".repeat(40)}\n`);
  expect(read({ SERVICE_AUTH_SECRET_FILE: file }).auth_secret?.reveal()).toBe("s".repeat(40));
  const both = refusal({ SERVICE_AUTH_SECRET_FILE: file, SERVICE_AUTH_SECRET: "t".repeat(40) });
  expect(both.message).toContain("SERVICE_AUTH_SECRET: conflicts with SERVICE_AUTH_SECRET_FILE: set only one of them");
});

test("reads server.toml; the environment has priority", () => {
  writeFileSync(join(home, "server.toml"), 'port = 8080\nsign_up = "open"\ndatabase_quota = 5\n');
  expect(read({ SERVICE_PORT: "9090" })).toMatchObject({ port: 9090, sign_up: "open", database_quota: 5 });
});

test.each([
  ["prot = 1", "prot: is not a setting"],
  ['home = "/x"', "home: is not a setting"],
  ["port = [1]", "port: must be text or a number"],
  ["port = ", "server.toml: "],
])("refuses server.toml with %s", (text, what) => {
  writeFileSync(join(home, "server.toml"), text);
  expect(refusal({}).message).toContain(what);
});

test("secrets always print as ***", () => {
  const config = read({ SERVICE_AUTH_SECRET: "s".repeat(40), SERVICE_DATABASE_URL: "postgresql://u:hidden@h/d" });
  const printed = [
    JSON.stringify(config),
    inspect(config, { depth: 5 }),
    `${config.auth_secret} ${config.database.url}`,
  ];
  expect(printed.join()).not.toMatch(/ssss|hidden/);
  expect(printed.join()).toContain("***");
});

test("accepts addresses, networks and named local ranges as trusted proxies", () => {
  const list = ["10.0.0.1", "10.0.0.0/8", "2001:db8::/32", "loopback"];
  expect(read({ SERVICE_TRUSTED_PROXIES: list.join(", ") }).trusted_proxies).toEqual(list);
});

test("orders certificates once the terms are accepted, and hides the account key", () => {
  const config = read({ ...ACME, SERVICE_ACME_EAB_KEY_ID: "kid", SERVICE_ACME_EAB_KEY: "hidden key" });
  expect(config.gateway).toMatchObject({ tls: undefined, acme: { directory: ACME.SERVICE_ACME_DIRECTORY } });
  expect(JSON.stringify(config)).not.toContain("hidden key");
});
