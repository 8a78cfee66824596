import { randomBytes, scryptSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CallInput, type ControlClient, createControlClient } from "@appdb/contract/clients/control-client";
import { urlOf } from "@appdb/contract/routes/api";
import { CONTROL_ROUTES, type ControlRouteName } from "@appdb/contract/routes/control-paths";
import { Secret } from "@appdb/system/secret";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestTemplate } from "@appdb/testkit/test-database";
import { addDeliveries } from "../audit/add-deliveries.ts";
import { createRecordEvent } from "../audit/record-event.ts";
import { type ComposedServer, composeServer } from "../compose.ts";
import { readServerConfig, type ServerConfig } from "../config/config.ts";
import { migrate, readControlMigrations } from "../database/migrate.ts";
import { openControlDatabase } from "../database/pool.ts";
import type { PasswordHasher } from "../identity/auth.ts";
import type { Mail, MailMessage } from "../identity/mail.ts";
import { type MasterKey, openMasterKey, toMasterKey } from "../secrets/master-key.ts";

/** A request's credential: none, a session (header or cookie), an API key, or custom headers. */
export interface Credential {
  readonly token?: string;
  readonly cookie?: string;
  readonly api_key?: string;
}

export interface SendInput {
  readonly as?: Credential | undefined;
  /** Sent as JSON. Texts and bytes are sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members
  readonly json: any;
}

export interface TestServer extends AsyncDisposable, ComposedServer {
  readonly url: string;
  readonly log: ReturnType<typeof createSilentLog>;
  readonly home: string;
  readonly dsn: string;
  /** Sent mails. Empty for a server without mail. */
  readonly mails: readonly MailMessage[];
  send(method: string, path: string, input?: SendInput): Promise<TestAnswer>;
  /** Sends a request to a route of the contract. */
  ask<Name extends ControlRouteName>(name: Name, input: Partial<CallInput<Name>> & SendInput): Promise<TestAnswer>;
  /** The CLI's typed client. */
  client(as: Credential): ControlClient;
}

export interface OpenServerInput {
  /** Settings as environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the server has mail. Mails are collected in `mails`. */
  readonly mail?: boolean;
  /** Whether it stores passwords as the product does, which takes 0.1 s of a processor each time. */
  readonly has_slow_passwords?: boolean;
  /** Uses the database of another test server, which owns it. */
  readonly beside?: TestServer;
}

/** The product's format of stored passwords, with a scrypt of the lowest cost: tests hash hundreds of passwords. */
const QUICK_PASSWORDS: PasswordHasher = {
  hash: async (password) => hashQuickly(password, randomBytes(16).toString("hex")),
  verify: async ({ hash, password }) => hash === hashQuickly(password, hash.split(":")[0] ?? ""),
};

function hashQuickly(password: string, salt: string): string {
  return `${salt}:${scryptSync(password.normalize("NFKC"), salt, 64, { N: 2 }).toString("hex")}`;
}

/** Starts a control plane with its own database, on a free port of 127.0.0.1. */
export async function openServer(input: OpenServerInput = {}): Promise<TestServer> {
  const home = mkdtempSync(join(tmpdir(), "appdb-server-"));
  const { beside } = input;
  const database =
    beside === undefined ? await createTestDatabase(migrated()) : { dsn: beside.dsn, drop: async () => undefined };
  const log = createSilentLog();
  const config = readServerConfig({ SERVICE_HOME: home, SERVICE_DATABASE_URL: database.dsn, ...input.env });
  const opened = openControlDatabase(database.dsn, log);
  const masterKey = await openMasterKey(
    { db: opened.db, log, recordEvent: createRecordEvent(addDeliveries) },
    {
      current: masterKeyOf(config),
      previous: config.master_key_previous,
      make: () => {
        throw new Error("Expected a master key.");
      },
      place: "the test",
    },
  );
  const mails: MailMessage[] = [];
  const mail: Mail | undefined = input.mail
    ? { send: async (message) => void mails.push(message), close: () => undefined }
    : undefined;
  const site = { url: "" };
  const composed = composeServer({
    config,
    log,
    db: opened.db,
    pool: opened.pool,
    site,
    mail,
    master_key: masterKey,
    passwords: input.has_slow_passwords ? undefined : QUICK_PASSWORDS,
    auth_secret: new Secret("a secret of the tests that is long enough"),
  });
  await composed.app.listen({ host: "127.0.0.1", port: 0 });
  const address = composed.app.server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no TCP port.");
  const url = `http://127.0.0.1:${address.port}`;
  site.url = config.public_url ?? url;
  const send: TestServer["send"] = (method, path, given = {}) => sendTo(url, site.url, method, path, given);
  return {
    ...composed,
    url,
    log,
    home,
    dsn: database.dsn,
    mails,
    send,
    ask: (name, given) => {
      const { params = {}, query = {} } = given as { params?: Record<string, string>; query?: Record<string, string> };
      const { method, path } = CONTROL_ROUTES[name];
      return send(method, urlOf(path, params, query), given);
    },
    client: (as) =>
      createControlClient({ url, url_source: "the test", credential: async () => headersOf(as, site.url, "GET") }),
    [Symbol.asyncDispose]: async () => {
      await composed.app.close();
      await opened[Symbol.asyncDispose]();
      await database.drop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A template of the migrated control plane's database. */
function migrated(): TestTemplate {
  const migrations = readControlMigrations();
  return {
    made_of: JSON.stringify(migrations),
    async fill(dsn) {
      const log = createSilentLog();
      const { pool } = openControlDatabase(dsn, log);
      await migrate(pool, migrations, log);
      await pool.end();
    },
  };
}

function masterKeyOf(config: ServerConfig): Secret {
  return config.master_key ?? new Secret(Buffer.alloc(32, 7).toString("base64"));
}

/** The master key of a test server. */
export function testMasterKey(config: ServerConfig): MasterKey {
  return toMasterKey(masterKeyOf(config));
}

async function sendTo(
  url: string,
  site: string,
  method: string,
  path: string,
  { as, body, headers }: SendInput,
): Promise<TestAnswer> {
  const response = await fetch(url + path, {
    method,
    redirect: "manual",
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headersOf(as ?? {}, site, method),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isSentAsIs(body) ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /\/(problem\+)?json\b/.test(response.headers.get("content-type") ?? "") && text !== "";
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

function isSentAsIs(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array;
}

/** Sends a cookie like a page of the server. */
function headersOf(
  { token, cookie, api_key: apiKey }: Credential,
  site: string,
  method: string,
): Record<string, string> {
  return {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(cookie === undefined ? {} : { cookie, ...(method === "GET" ? {} : { origin: site }) }),
    ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
  };
}
