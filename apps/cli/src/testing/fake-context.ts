import { PassThrough, Readable } from "node:stream";
import type { AnswerOf, CallOptions, InputOf } from "@appdb/contract/clients/client";
import type { ControlClient } from "@appdb/contract/clients/control-client";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import type { Manifest } from "@appdb/contract/manifest";
import type { ServicePlan } from "@appdb/contract/plan";
import type { DaemonHealth, Progress, ServiceRecord } from "@appdb/contract/routes/local";
import type { LOCAL_API } from "@appdb/contract/routes/local-api";
import { VERSION } from "@appdb/contract/version";
import { listCommands, runCommandLine } from "../app.ts";
import { LEAVES, NOUNS } from "../command-table.ts";
import type { Application, ControlAccess, FoundDaemon, Prompt, World } from "../context.ts";
import type { Credential } from "../control/find-credential.ts";
import { createOutput } from "../output/output.ts";

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: number;
}

/** Replacements for a command's dependencies in a test. */
export interface FakeContext {
  readonly cwd?: string;
  /** Answers of the daemon. An unexpected call fails the test. */
  readonly client?: DaemonAnswers;
  /** False: no daemon runs, and `find` returns undefined. */
  readonly has_daemon?: boolean;
  readonly app?: Application | Error;
  /** Answer to a question; undefined without a terminal. */
  readonly answer?: boolean;
  /** Input for a text prompt. */
  readonly typed?: string;
  /** Input for a secret prompt. */
  readonly secret?: string;
  /** Answers of the control plane by route name; lists as arrays. An unexpected call fails. */
  readonly control?: Readonly<Record<string, unknown>>;
  /** Piped input of the shell. */
  readonly piped?: readonly string[];
  /** Called for each text that the command prints. */
  readonly onPrint?: (text: string) => void;
  readonly context?: Partial<World>;
}

/** Runs one command line with fake dependencies in this process. */
export async function runCli(words: string | readonly string[], given: FakeContext = {}): Promise<Ran> {
  const argv = typeof words === "string" ? words.split(" ").filter((word) => word !== "") : words;
  const written = { stdout: "", stderr: "" };
  const streamOf = (name: keyof typeof written) => ({
    write: (text: string) => {
      written[name] += text;
      given.onPrint?.(text);
    },
  });
  const streams = { stdout: streamOf("stdout"), stderr: streamOf("stderr") };
  const process: World["process"] = {
    stdout: streams.stdout,
    stderr: { write: (text) => void (text.trim() === "" ? undefined : streams.stderr.write(text)) },
    env: {},
  };
  const client = fakeClient(given.client ?? {});
  const prompt: Prompt | undefined =
    given.answer === undefined
      ? undefined
      : {
          confirm: async () => given.answer === true,
          secret: async () => given.secret ?? "",
          text: async () => given.typed ?? "",
        };
  const ctx: World = {
    process,
    config: CONFIG,
    cwd: given.cwd ?? "/home/ada/project",
    out: createOutput(streams.stdout, streams.stderr, true),
    signal: new AbortController().signal,
    prompt,
    readInput: undefined,
    streamInput: undefined,
    terminal: {
      input: Readable.from(given.piped ?? []),
      output: new PassThrough(),
      is_interactive: false,
      takeInterrupts: () => () => undefined,
    },
    commands: { leaves: LEAVES, nouns: NOUNS },
    runCommand: async (inner, signal) => {
      const out = createOutput(streams.stdout, streams.stderr, true);
      const own = { ...ctx, process: { stdout: process.stdout, stderr: process.stderr, env: {} }, signal, out };
      await runCommandLine(inner, own);
      return Number((own.process as World["process"]).exitCode ?? 0);
    },
    control: async () => fakeControl(given.control ?? {}),
    daemon: {
      ensure: async () => client,
      find: async () => (given.has_daemon === false ? undefined : foundDaemon(client)),
      waitUntilGone: async () => undefined,
      endHung: () => Promise.reject(new Error("The daemon of this test answers.")),
    },
    readApplication: async () => {
      const app = given.app ?? APPLICATION;
      if (app instanceof Error) throw app;
      return app;
    },
    checkApplication: async () => undefined,
    startService: () => {
      throw new Error("The test starts no service.");
    },
    listCommands,
    operate: () => Promise.reject(new Error("This test has no server.")),
    findPsql: async () => "psql",
    readDisk: async () => ({ bytes: 100 * 2 ** 30, free_bytes: 50 * 2 ** 30, level: "enough" }),
    doctor: async () => [{ name: "node", ok: true, detail: "20.19.0", hint: null }],
    ...given.context,
  };
  await runCommandLine(argv, ctx);
  return { ...written, exit: Number(process.exitCode) };
}

export const CONFIG: World["config"] = {
  home: "/home/ada/.service",
  api_key: undefined,
  api_url: undefined,
  has_display: false,
  application_env: {},
  daemon_env: {},
  plain: true,
};

/** Member of an answer that contains the test's items. */
const HOLDERS = {
  schemaPlan: "plan",
  schemaApply: "plan",
  schemaPrune: "plan",
  servicePlan: "plan",
  serviceApply: "plan",
  servicePrune: "plan",
  recomputePlan: "plan",
  recompute: "result",
  errors: "tables",
  jobList: "jobs",
  serviceList: "services",
  databaseList: "databases",
  tableChange: "plan",
  historyList: "entries",
  limitList: "limits",
} as const;

type LocalApi = typeof LOCAL_API;
type Held<Name extends keyof LocalApi, Answer> = Name extends keyof typeof HOLDERS
  ? Answer extends { readonly [key in (typeof HOLDERS)[Name]]: infer Value }
    ? Value
    : never
  : Answer;
type Sent<Input> = Input extends { readonly body: infer Body }
  ? Body
  : Input extends { readonly query?: infer Query }
    ? NonNullable<Query>
    : undefined;

/** Answers by route name, computed from a body or a query; `serviceLogs` returns lines, `sqlRun` a response's text. */
export type DaemonAnswers = {
  readonly [Name in keyof LocalApi]?: (
    sent: Sent<InputOf<LocalApi[Name]>>,
    options: Omit<CallOptions, "onProgress"> & { onProgress?: (progress: Progress) => void },
  ) => Name extends "serviceLogs"
    ? AsyncIterable<string>
    : Name extends "queryRun" | "sqlRun"
      ? Promise<string>
      : Promise<Held<Name, AnswerOf<LocalApi[Name]>>>;
};

function fakeClient(answers: DaemonAnswers): LocalClient {
  const ask = (name: string, { body, query }: { body?: unknown; query?: unknown }, options: CallOptions = {}) => {
    const answer = answers[name as keyof LocalApi] as ((...given: unknown[]) => unknown) | undefined;
    if (answer === undefined) throw new Error(`The test did not expect the call ${name}.`);
    return answer(body ?? query, options);
  };
  return {
    call: async (name: keyof LocalApi, input: object, options?: CallOptions) => {
      const answer = await ask(name, input, options);
      return name in HOLDERS ? { [HOLDERS[name as keyof typeof HOLDERS]]: answer } : answer;
    },
    text: async (name: keyof LocalApi, input: object, options?: CallOptions) =>
      JSON.stringify(await ask(name, input, options)),
    open: async (name: string, input: object, options?: CallOptions) => {
      const text = String(await ask(name, input, options));
      return { status: 200, text: async () => text, body: Readable.from([Buffer.from(text)]) };
    },
    lines: async function* (name: string, input: object, signal: AbortSignal) {
      for await (const line of ask(name, input, { signal }) as AsyncIterable<string>) yield { event: "log", line };
    },
  } as unknown as LocalClient;
}

/** A control plane with a sign-in. */
function fakeControl(answers: Readonly<Record<string, unknown>>): ControlAccess {
  const server = { url: "https://cloud.example.com", source: "SERVICE_API_URL", is_running: true };
  const credential: Credential = { kind: "session", source: "/home/ada/.service/sessions.json", headers: {} };
  const answerOf = (name: string) => {
    if (name in answers) return answers[name];
    throw new Error(`The test did not expect ${name}.`);
  };
  const client = {
    call: async (name: string) => answerOf(name),
    each: async function* (name: string) {
      yield* answerOf(name) as unknown[];
    },
    lines: async function* (name: string) {
      yield* answerOf(name) as unknown[];
    },
    follow: () => {
      throw new Error("The test follows nothing.");
    },
  } as unknown as ControlClient;
  return {
    open: async () => ({ server, credential, client }),
    findServer: async () => server,
    findCredential: async () => credential,
    findSignIn: () => credential,
    connect: () => client,
    signIn: async () => ({ token: "token", credential }),
    keepSignIn: () => undefined,
    keepServer: async () => "/home/ada/.service/config.toml",
    openBrowser: () => undefined,
  };
}

export const HEALTH: DaemonHealth = {
  version: VERSION,
  pid: 4711,
  home: "/home/ada/.service",
  started_at: "2026-11-20T10:00:00.000Z",
  postgres: "up",
  postgres_failure: null,
  busy: 1,
  services: 1,
};

function foundDaemon(client: LocalClient): FoundDaemon {
  return { file: { pid: 4711, port: 40123, started_at: HEALTH.started_at, version: VERSION }, client, health: HEALTH };
}

const SOURCE = { file: "app.py", line: 1 };

export const MANIFEST: Manifest = {
  manifest_version: 1,
  library_version: VERSION,
  warnings: [],
  python_version: "3.11.7",
  app_file: "app.py",
  tables: [
    {
      name: "docs",
      model: "Docs",
      comment: null,
      custom_metadata: null,
      columns: [
        {
          name: "title",
          type: { kind: "string" },
          nullable: false,
          primary_key: false,
          computed: null,
          comment: null,
          custom_metadata: null,
          renamed_from: null,
          source: SOURCE,
        },
      ],
      primary_key: [],
      indexes: [],
      has_default_idxs: false,
      renamed_from: null,
      source: SOURCE,
    },
  ],
  functions: [],
  queries: [],
  resource_pools: [],
  services: [
    {
      name: "ingest",
      prefix: "",
      routes: [
        {
          kind: "insert",
          method: "post",
          path: "/docs",
          table: "docs",
          inputs: ["title"],
          outputs: ["title"],
          on_error: "abort",
          handler: null,
          source: SOURCE,
        },
      ],
      source: SOURCE,
    },
  ],
  modules: [{ path: "app.py", sha256: "0".repeat(64) }],
};

export const APPLICATION: Application = {
  manifest: MANIFEST,
  runtime: {
    python: "/usr/bin/python3",
    python_source: "base library",
    project_root: "/home/ada/project",
    library_paths: [],
    env: {},
  },
};

/** A service plan without changes, except for `changes`. */
export function servicePlan(
  changes: Partial<Omit<ServicePlan, "summary">> & { summary?: Partial<ServicePlan["summary"]> } = {},
): ServicePlan {
  const { summary, ...rest } = changes;
  return {
    app_file: "app.py",
    target: "main",
    services: [],
    extras: [],
    ops: [],
    status: null,
    in_agreement: true,
    ...rest,
    summary: {
      up_to_date: 0,
      create: 0,
      update_additive: 0,
      update_destructive: 0,
      extras: 0,
      blocked: 0,
      destructive: 0,
      restarts: 0,
      ...summary,
    },
  };
}

export const SERVICE: ServiceRecord = {
  name: "ingest",
  catalog_path: "main",
  endpoint: "http://127.0.0.1:42697",
  port: 42697,
  state: "AVAILABLE",
  error: null,
  restarts: 0,
  pid: 7920,
  started_at: "2026-11-20T10:00:00.000Z",
  app_file: "app.py",
  project_root: "/home/ada/project",
  routes: [
    {
      method: "post",
      path: "/docs",
      route_type: "insert",
      table: "docs",
      query: null,
      one_row: false,
      inputs: ["title"],
      outputs: ["title"],
    },
  ],
  log_file: "/home/ada/.service/logs/services/main/ingest.log",
};
