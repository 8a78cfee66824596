import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallAnswer } from "@appdb/contract/clients/control-client";
import { readCliConfig } from "../config/config.ts";
import { createControlAccess } from "../control/create-control-access.ts";
import { type Ran, runCli } from "./fake-context.ts";

export interface ControlWorld extends Disposable {
  readonly home: string;
  readonly project: string;
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

/** A home and a project of its own, and the command with its real access to the control plane. */
export function openControlWorld(): ControlWorld {
  const folder = mkdtempSync(join(tmpdir(), "appdb cli é-"));
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(project);
  const opened: string[] = [];
  const notes: string[] = [];
  return {
    home,
    project,
    opened,
    notes,
    run: async (words, { answer, env = {}, secret, input, typed, signal = new AbortController().signal } = {}) => {
      const config = readCliConfig({ NO_COLOR: "1", ...env, SERVICE_HOME: home }, "linux");
      const access = createControlAccess({ config, cwd: project, signal, note: (text) => notes.push(text) });
      return await runCli(words, {
        cwd: project,
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
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
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
