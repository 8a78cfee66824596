import { setTimeout as sleep } from "node:timers/promises";
import type { FetchLike } from "@appdb/contract/clients/client";
import { type AppError, appError, fromProblem, isErrorCode, type Problem } from "@appdb/contract/errors";
import { AUTH_PATH, DEVICE_CLIENT_ID } from "@appdb/contract/routes/control-paths";
import { CLIENT_VERSION_HEADER, VERSION } from "@appdb/contract/version";

/** Data that the user confirms in a browser. */
export interface DeviceCode {
  readonly user_code: string;
  /** Contains the code when the server supports that. */
  readonly url: string;
  readonly expires_in_s: number;
}

export interface DeviceSignInDeps {
  readonly server: { readonly url: string; readonly source: string };
  readonly signal: AbortSignal;
  readonly fetch: FetchLike;
  /** Shows the code while the sign-in waits. */
  readonly onCode: (code: DeviceCode) => void;
  /** Reports that the server did not respond and is retried. */
  readonly onRetry: (reason: string) => void;
  readonly clock?: Clock;
}

interface Clock {
  /** In ms, of a monotonic clock. */
  now(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** RFC 8628, sections 3.2 and 3.5. */
const DEFAULT_INTERVAL_S = 5;
const SLOW_DOWN_S = 5;
const CLOCK: Clock = {
  now: () => performance.now(),
  wait: async (ms, signal) => await sleep(ms, undefined, { signal }),
};

/**
 * Signs in by RFC 8628: requests a code, shows it, and polls at the server's interval until it is confirmed. Resolves
 * with the session's token. Retries a server that is briefly unavailable until the code expires.
 * @throws sign_in_denied, sign_in_expired, server_unreachable, server_failed, interrupted; other errors of the server
 */
export async function signInByDevice(deps: DeviceSignInDeps): Promise<string> {
  const { clock = CLOCK, signal } = deps;
  const response = await post(deps, "code", { client_id: DEVICE_CLIENT_ID });
  const {
    device_code: deviceCode,
    verification_uri: verificationUri,
    verification_uri_complete: verificationUriComplete,
    interval,
  } = response.body;
  const userCode = spaceUserCode(response.body["user_code"]);
  const url = [verificationUriComplete, verificationUri].find(isWebAddress);
  if (response.status !== 200 || typeof deviceCode !== "string" || userCode === undefined || url === undefined) {
    throw refusalOf(deps, "code", response);
  }
  const expiresInS = typeof response.body["expires_in"] === "number" ? response.body["expires_in"] : 600;
  const ends = clock.now() + expiresInS * 1000;
  deps.onCode({ user_code: userCode, url, expires_in_s: expiresInS });
  let waitS = typeof interval === "number" && interval > 0 ? interval : DEFAULT_INTERVAL_S;
  for (;;) {
    await clock.wait(waitS * 1000, signal).catch(() => {
      throw interrupted();
    });
    if (clock.now() > ends) throw expired();
    const answer = await ask(deps, deviceCode);
    // The interval also grows without answers, as the RFC requires.
    if (answer === undefined) waitS = Math.min(waitS * 2, 60);
    else if (answer.status === 200 && typeof answer.body["access_token"] === "string")
      return answer.body["access_token"];
    else if (answer.body["error"] === "slow_down") waitS += SLOW_DOWN_S;
    else if (answer.body["error"] === "access_denied") throw denied(userCode);
    else if (answer.body["error"] === "expired_token") throw expired();
    else if (answer.body["error"] !== "authorization_pending") throw refusalOf(deps, "token", answer);
  }
}

/** Splits eight letters, which are easier to compare; the server accepts both forms. */
function spaceUserCode(code: unknown): string | undefined {
  if (typeof code !== "string") return undefined;
  return /^[A-Z0-9]{8}$/.test(code) ? `${code.slice(0, 4)}-${code.slice(4)}` : code;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Undefined when the server did not respond. @throws interrupted */
async function ask(deps: DeviceSignInDeps, deviceCode: string): Promise<Answer | undefined> {
  try {
    return await post(deps, "token", { grant_type: GRANT, device_code: deviceCode, client_id: DEVICE_CLIENT_ID });
  } catch (error) {
    if (deps.signal.aborted) throw error;
    deps.onRetry(error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error));
    return undefined;
  }
}

async function post(deps: DeviceSignInDeps, route: "code" | "token", body: object): Promise<Answer> {
  const { server, signal } = deps;
  const headers = { "content-type": "application/json", accept: "application/json", [CLIENT_VERSION_HEADER]: VERSION };
  const init = { method: "POST", headers, body: JSON.stringify(body), signal };
  let answer: { status: number; text: string };
  try {
    const response = await deps.fetch(`${server.url}${AUTH_PATH}/device/${route}`, init);
    answer = { status: response.status, text: await response.text() };
  } catch (cause) {
    throw signal.aborted ? interrupted(cause) : unreachable(server, cause);
  }
  return { status: answer.status, body: readObject(answer.text) };
}

/** Empty when it is not a JSON object. */
function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // The missing fields then show that the answer is not ours.
    return {};
  }
}

function isWebAddress(value: unknown): value is string {
  return typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** Error for an unexpected answer: a problem of the server, or an answer of another kind of server. */
function refusalOf({ server }: DeviceSignInDeps, route: string, { status, body }: Answer): AppError {
  const { code, detail, error_description: errorDescription } = body;
  // no credential exists before the sign-in: only a service for applications asks for one
  if (status === 401 && code === "unauthorized") return servesApplications(server);
  if (typeof code === "string" && isErrorCode(code) && typeof detail === "string") {
    return fromProblem(body as unknown as Problem);
  }
  const description = typeof errorDescription === "string" ? `: ${errorDescription}` : "";
  return appError("server_failed", {
    detail: `${server.url} did not answer POST ${AUTH_PATH}/device/${route} as a control plane does (status ${status}${description}).`,
    hint: `Check that it is the address of the control plane. It came from ${server.source}.`,
    meta: { url: server.url, source: server.source, status },
  });
}

function servesApplications({ url, source }: DeviceSignInDeps["server"]): AppError {
  return appError("server_failed", {
    detail: `${url} (from ${source}) is not the control plane: it requires an API key, like the address of a service.`,
    hint: "Use the address of the dashboard: cli login --server https://...",
    meta: { url, source },
  });
}

function denied(userCode: string): AppError {
  return appError("sign_in_denied", {
    detail: `The sign-in with the code ${userCode} was denied in the browser.`,
    hint: "If that was not you, someone else saw the code. Start again and confirm it yourself: cli login",
  });
}

function expired(): AppError {
  return appError("sign_in_expired", {
    detail: "The code was not confirmed in time. You are not signed in.",
    hint: "Request another code: cli login",
  });
}

function interrupted(cause?: unknown): AppError {
  return appError("interrupted", { detail: "The sign-in was cancelled. You are not signed in.", cause });
}

function unreachable({ url, source }: DeviceSignInDeps["server"], cause: unknown): AppError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return appError("server_unreachable", {
    detail: `No server responds at ${url} (from ${source})${code === "ECONNREFUSED" ? "" : `: ${message}`}.`,
    hint: "Start it with npm start in its checkout, or use another server: cli login --server https://...",
    meta: { url, source },
    cause,
  });
}
