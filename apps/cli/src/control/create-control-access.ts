import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { CallOptions } from "@appdb/contract/clients/client";
import { type ControlClient, createControlClient } from "@appdb/contract/clients/control-client";
import { AppError, appError } from "@appdb/contract/errors";
import { CONTROL_ROUTES, type ControlRoute, type ControlRouteName } from "@appdb/contract/routes/control-paths";
import {
  checkSessions,
  readSession,
  type StoredSession,
  sessionsFile,
  writeSession,
} from "@appdb/system/control/sessions";
import { wakingClient } from "@appdb/system/control/wake-database";
import { httpFetch } from "@appdb/system/network/http-fetch";
import type { CliConfig } from "../config/config.ts";
import type { ControlAccess } from "../context.ts";
import { signInByDevice } from "./device-sign-in.ts";
import { type Credential, findCredential, sessionCredential } from "./find-credential.ts";
import { type ControlPlaneAddress, findServer, stoppedServer } from "./find-server.ts";
import { writeApiUrl } from "./write-api-url.ts";

const OPENERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  darwin: ["open"],
  // Not `cmd /c start`, which would interpret `&` in the address.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"],
};

/**
 * Asks the desktop to open an address, without confirmation. Does nothing where this is impossible, because the address
 * is also printed.
 */
function openBrowser(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, url], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
}

/** Creates a command's access to the control plane. */
export function createControlAccess(deps: {
  readonly config: Pick<CliConfig, "home" | "api_key" | "api_url">;
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** Prints a message for the user. */
  readonly note: (text: string) => void;
}): ControlAccess {
  const { config, note, signal } = deps;
  const credentialOf = (session: StoredSession | undefined) =>
    session === undefined ? undefined : sessionCredential(session.token, sessionsFile(config.home));
  const access: ControlAccess = {
    open: async () => {
      const server = await access.findServer();
      const credential = await access.findCredential(server);
      if (credential === undefined) throw notSignedIn(server);
      return { server, credential, client: wakingClient(access.connect(server, credential), { signal, note }) };
    },
    findServer: async () => await findServer(config),
    findCredential: async ({ url }) => await findCredential(deps, url),
    findSignIn: ({ url }) => credentialOf(readSession(config.home, url)),
    connect,
    signIn: async (server, listener) => {
      if (!server.is_running) throw stoppedServer(server);
      checkSessions(config.home);
      const token = await signInByDevice({ server, signal, fetch: httpFetch, ...listener });
      return { token, credential: sessionCredential(token, sessionsFile(config.home)) };
    },
    keepSignIn: ({ url }, session) => credentialOf(writeSession(config.home, url, session)),
    keepServer: async (url) => await writeApiUrl(config.home, url),
    openBrowser,
  };
  return access;
}

function notSignedIn({ url, source }: ControlPlaneAddress): AppError {
  return appError("not_signed_in", {
    detail: `Not signed in to ${url} (from ${source}).`,
    hint: "Sign in: cli login   or set SERVICE_API_KEY",
    meta: { url, source },
  });
}

/** Changes carry an Idempotency-Key, so that a request whose answer was lost is retried and executed once. */
function connect(server: ControlPlaneAddress, credential: Credential): ControlClient {
  if (!server.is_running) throw stoppedServer(server);
  const client = createControlClient({
    url: server.url,
    url_source: server.source,
    credential: async () => credential.headers,
    fetch: httpFetch,
  });
  const ask = async <T>(name: ControlRouteName, callOptions: CallOptions | undefined, send: Send<T>): Promise<T> => {
    const { answers, method, streams }: ControlRoute = CONTROL_ROUTES[name];
    // a request interrupted in a stream is not repeated as a whole
    const isUnstreamed = answers === undefined && streams === undefined;
    const options =
      isUnstreamed && method !== "GET" ? { idempotency_key: randomUUID(), ...callOptions } : (callOptions ?? {});
    try {
      return await send(options).catch(async (error: unknown) => {
        if (!isUnstreamed || !isConnectionCut(error)) throw error;
        return await send(options).catch((again: unknown) => {
          // The second request did not arrive; the first may have.
          throw isUnreachable(again) && !isUnreachable(error) ? error : again;
        });
      });
    } catch (error) {
      throw explain(error, server, credential);
    }
  };
  return {
    call: (name, input, callOptions) => ask(name, callOptions, (options) => client.call(name, input, options)),
    text: (name, input, callOptions) => ask(name, callOptions, (options) => client.text(name, input, options)),
    events: (name, input, callOptions) => ask(name, callOptions, (options) => client.events(name, input, options)),
    open: (name, input, callOptions) => ask(name, callOptions, (options) => client.open(name, input, options)),
    each: (name, input, callOptions) => explained(client.each(name, input, callOptions), server, credential),
    follow: (name, input, after, signal) => explained(client.follow(name, input, after, signal), server, credential),
    lines: (name, input, signal) => explained(client.lines(name, input, signal), server, credential),
  };
}

type Send<T> = (options: CallOptions) => Promise<T>;

async function* explained<T>(
  items: AsyncIterable<T>,
  server: ControlPlaneAddress,
  credential: Credential,
): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw explain(error, server, credential);
  }
}

/** The connection broke, so the result of the request is unknown. */
function isConnectionCut(error: unknown): boolean {
  if (!(error instanceof AppError) || !(isUnreachable(error) || error.code === "commit_unknown")) return false;
  const { cause } = error;
  return cause instanceof Error && "code" in cause && (cause.code === "ECONNRESET" || cause.code === "EPIPE");
}

function isUnreachable(error: unknown): boolean {
  return error instanceof AppError && error.code === "server_unreachable";
}

/** Names the source of a refused credential, because up to three may exist and only one was used. */
function explain(error: unknown, server: ControlPlaneAddress, credential: Credential): unknown {
  if (!(error instanceof AppError) || error.code !== "unauthorized") return error;
  const meta = { url: server.url, source: credential.source };
  if (credential.kind === "session") {
    return appError("not_signed_in", {
      detail: `The sign-in at ${server.url} is not valid any more: ${error.message}`,
      hint: "Sign in again: cli login",
      meta,
      cause: error,
    });
  }
  return appError("unauthorized", {
    detail: `${server.url} does not accept the API key of ${credential.source}: ${error.message}`,
    hint: `Put a key of this server there, or remove it from ${credential.source}: it overrides a sign-in.`,
    meta,
    cause: error,
  });
}
