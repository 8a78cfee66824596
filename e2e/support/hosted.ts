import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import type { Started, TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";
import { startHostedServer } from "./hosted-server.ts";
import { connectCluster } from "./served.ts";

/** The hosted service on the home of a project, with a browser session. */
export interface Hosted {
  readonly url: string;
  readonly server: Started;
  /** Creates the first account by the printed setup link. The browser uses its session from then on. */
  setUp(email: string): Promise<void>;
  /** Sends a request as the browser: with its cookie, from a page of the server. */
  browse(method: string, path: string, body?: object): Promise<Browsed>;
  /** Queries the control plane's PostgreSQL directly. */
  query(text: string): Promise<unknown[][]>;
}

export interface Browsed {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests only read members of answers
  readonly json: any;
}

const PASSWORD = "correct horse battery";

/** Starts the built server on the home of the project with its own port and PostgreSQL. It ends with the project. */
export async function startHosted(project: TestProject): Promise<Hosted> {
  const { setup_link: setupLink, started, url } = await startHostedServer(project);
  let cookie = "";
  const browse: Hosted["browse"] = async (method, path, body) => {
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
  return {
    url,
    server: started,
    browse,
    query: async (text) => {
      const client = await connectCluster(join(project.home, "server", "postgres"), "control");
      try {
        return (await client.query({ text, rowMode: "array" })).rows;
      } finally {
        await client.end();
      }
    },
    setUp: async (email) => {
      const token = new URL(setupLink).searchParams.get("token");
      const made = await browse("POST", "/v1/setup", { token, email, name: "Ann", password: PASSWORD });
      expect(made, JSON.stringify(made)).toMatchObject({ status: 201 });
    },
  };
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
    { timeout_ms: 20_000 },
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
