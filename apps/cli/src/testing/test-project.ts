import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CallAnswer } from "@appdb/contract/clients/control-client";
import { readCliConfig } from "../config/config.ts";
import { createControlAccess } from "../control/create-control-access.ts";
import { type ControlServer, type ControlServerInput, startControlServer } from "./control-server.ts";
import { type Ran, runCli } from "./fake-context.ts";

/** A temporary home and project, and the command in this process with its real access to the control plane. */
export interface TestProject extends Disposable {
  readonly home: string;
  readonly folder: string;
  /** Addresses opened in the browser. */
  readonly opened: readonly string[];
  /** Messages of the control plane access. */
  readonly notes: readonly string[];
  run(words: string | readonly string[], with_?: RunWith): Promise<Ran>;
}

export interface RunWith {
  readonly env?: Readonly<Record<string, string>>;
  /** Input for a secret prompt; undefined without a terminal. */
  readonly secret?: string;
  /** Answer to a question; undefined without a terminal. */
  readonly answer?: boolean;
  /** Input for a text prompt; undefined without a terminal. */
  readonly typed?: string;
  /** Piped input. */
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** A test project whose commands reach a test's control plane with an API key. */
export interface HostedProject extends Omit<TestProject, keyof Disposable>, AsyncDisposable {
  readonly server: ControlServer;
  /** Names of the requested routes in order. */
  asked(): string[];
  write(files: Readonly<Record<string, string | Buffer>>): void;
}

export function openTestProject(): TestProject {
  const parent = mkdtempSync(join(tmpdir(), "appdb cli é-"));
  const [home, folder] = [join(parent, "home"), join(parent, "project")];
  mkdirSync(folder);
  const opened: string[] = [];
  const notes: string[] = [];
  return {
    home,
    folder,
    opened,
    notes,
    run: async (words, { answer, env = {}, secret, input, typed, signal = new AbortController().signal } = {}) => {
      const config = readCliConfig({ NO_COLOR: "1", ...env, SERVICE_HOME: home }, "linux");
      const access = createControlAccess({ config, cwd: folder, signal, note: (text) => notes.push(text) });
      return await runCli(words, {
        cwd: folder,
        ...(secret === undefined ? {} : { answer: false, secret }),
        ...(typed === undefined ? {} : { answer: false, typed }),
        ...(answer === undefined ? {} : { answer }),
        context: {
          config,
          signal,
          readInput: input === undefined ? undefined : async () => Buffer.from(input),
          control: async () => ({ ...access, openBrowser: (url) => void opened.push(url) }),
        },
      });
    },
    [Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }),
  };
}

/** Creates a project, and a control plane with these answers. */
export async function openHostedProject(input: ControlServerInput): Promise<HostedProject> {
  const project = openTestProject();
  const server = await startControlServer(input);
  return {
    ...project,
    server,
    asked: () => server.asked.map(({ name }) => name),
    write: (files) => {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(project.folder, path)), { recursive: true });
        writeFileSync(join(project.folder, path), text);
      }
    },
    run: (words, more = {}) =>
      project.run(words, { ...more, env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "sk_x", ...more.env } }),
    [Symbol.asyncDispose]: async () => {
      project[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

export const WHO: CallAnswer<"whoami"> = {
  kind: "user",
  email: "ann@example.com",
  name: "Ann",
  user_id: "u1",
  organization: { id: "o1", name: "acme", role: "owner" },
  organizations: 1,
  key: null,
  expires_at: "2027-01-01T00:00:00.000Z",
};
