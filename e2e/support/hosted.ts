import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { linkClusterTemplate } from "@appdb/testkit/link-cluster-template";
import { ROOT, type Started, type TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";
import { expectExit, queryCluster } from "./served.ts";

/** The hosted service on the home of a project, with a browser session. */
export interface Hosted {
  readonly url: string;
  /** The setup link of the first account. */
  readonly setup_link: string;
  readonly server: Started;
  /** Creates the first account by the printed setup link. The browser uses its session from then on. */
  setUp(email: string): Promise<void>;
  browse: Browse;
  /** Queries the control plane's PostgreSQL directly. */
  query(text: string): Promise<unknown[][]>;
}

/** Sends a request as a browser: with its cookie, from a page of the server. */
export type Browse = (method: string, path: string, body?: object) => Promise<Browsed>;

export interface Browsed {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests only read members of answers
  readonly json: any;
}

export interface Asked extends Browsed {
  readonly text: string;
}

const PASSWORD = "correct horse battery";
const START_MS = 60_000;
const READY_MS = 120_000;

/** Starts the built server on the home of the project with its own port and PostgreSQL. It ends with the project. */
export async function startHosted(project: TestProject): Promise<Hosted> {
  const { server, url } = await startServer(project);
  const setupLink = () => /^Make the first account: (\S+)$/m.exec(server.output())?.[1] ?? "";
  const browse = openBrowserSession(url);
  return {
    url,
    get setup_link() {
      return setupLink();
    },
    server,
    browse,
    query: (text) => queryCluster(join(project.home, "server", "postgres"), "control", text),
    setUp: (email) => setUpAccount(browse, setupLink(), email),
  };
}

/** Starts the built server in the project's home, also again, and waits until it prints its address. */
export async function startServer(project: TestProject): Promise<{ readonly server: Started; readonly url: string }> {
  await linkClusterTemplate(project.home);
  const server = project.start(`node '${join(ROOT, "dist", "server.js")}'`);
  return await eventually(
    () => {
      expect(server.child.exitCode, server.output()).toBe(null);
      const url = /^Dashboard: (\S+)$/m.exec(server.output())?.[1];
      if (url === undefined) throw new Error(server.output());
      return { server, url };
    },
    { timeout_ms: START_MS },
  );
}

/** Starts the server, signs the command in, and makes the organization `acme` with its database `main`. */
export async function startWithAcme(project: TestProject): Promise<Hosted> {
  const hosted = await startHosted(project);
  await hosted.setUp("ann@example.com");
  await signInCommand(project, hosted);
  await makeOrganization(project, "acme");
  return hosted;
}

/** Makes an organization, and waits for its database `main`. */
export async function makeOrganization(project: TestProject, name: string): Promise<void> {
  await expectExit(project, 0, "org", "create", name);
  await isAvailable(project, `cloud://${name}:main`);
}

/** Waits until a database is available. */
export async function isAvailable(project: TestProject, uri: string): Promise<void> {
  const state = async () => JSON.parse((await expectExit(project, 0, "db", "status", uri, "--json")).stdout);
  await eventually(async () => expect(await state()).toMatchObject({ state: "AVAILABLE" }), { timeout_ms: READY_MS });
}

export function openBrowserSession(url: string): Browse {
  let cookie = "";
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        origin: url,
        ...(cookie === "" ? {} : { cookie }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const set = response.headers.getSetCookie()[0]?.split(";")[0];
    if (set !== undefined) cookie = set;
    const text = await response.text();
    return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
  };
}

/** Creates the first account in this session. */
export async function setUpAccount(browse: Browse, setupLink: string, email: string): Promise<void> {
  const token = new URL(setupLink).searchParams.get("token");
  const made = await browse("POST", "/v1/setup", { token, email, name: "Ann", password: PASSWORD });
  expect(made, JSON.stringify(made)).toMatchObject({ status: 201 });
}

/** Sends a request with an API key. Bytes are an archive. NDJSON answers have only a text. */
export async function send(url: string, key: string, method: string, body?: object): Promise<Asked> {
  const isBytes = body instanceof Uint8Array;
  const type = isBytes ? "application/x-tar" : "application/json";
  const response = await fetch(url, {
    method,
    headers: { "x-api-key": key, ...(body === undefined ? {} : { "content-type": type }) },
    ...(body === undefined ? {} : { body: isBytes ? Uint8Array.from(body) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson =
    /json/.test(response.headers.get("content-type") ?? "") &&
    !/ndjson/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, text, json: isJson && text !== "" ? JSON.parse(text) : undefined };
}

/** Signs the command in as the browser's account. */
export async function signInCommand(project: TestProject, { browse }: Pick<Hosted, "browse">): Promise<void> {
  const { code, login } = await startLogin(project);
  await browse("GET", `/v1/devices/${code}`);
  await browse("POST", "/v1/auth/device/approve", { userCode: code });
  expect(await ended(login), login.output()).toBe(0);
}

/** Runs `cli login` until it shows its code. */
export async function startLogin(
  project: TestProject,
  words = "",
): Promise<{ readonly login: Started; readonly code: string }> {
  const login = project.start(`cli login ${words}`);
  const code = await eventually(
    () => {
      // the next line may follow a moment later
      const shown = /^Your code is (\S+)\nConfirm it at .*$/m.exec(login.output())?.[1];
      expect(shown, login.output()).toBeDefined();
      return shown ?? "";
    },
    { timeout_ms: 60_000 },
  );
  return { login, code };
}

/** Waits for the end of a started process. */
export async function ended({ child, output }: Started, timeoutMs = 30_000): Promise<number | null> {
  await eventually(() => expect(child.exitCode ?? child.signalCode, output()).not.toBe(null), {
    timeout_ms: timeoutMs,
  });
  return child.exitCode;
}
