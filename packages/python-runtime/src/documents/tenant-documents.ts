import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type AppError, appError, type ErrorCode } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { createFairQueue } from "@appdb/system/processes/fair-queue";
import {
  DOCUMENT_TASKS,
  type DocumentTask,
  type DocumentTaskInput,
  type DocumentTaskValue,
  type ManifestOutput,
} from "./document-tasks.ts";
import type { SharedIndex } from "./lock-sources.ts";
/** Limits for processing one document. */
export interface DocumentLimits {
  readonly timeout_ms: number;
  /** Heap limit of the child process. */
  readonly memory_mb: number;
  /** Maximum number of concurrent processes; further documents wait. Each organization has at most one. */
  readonly at_once: number;
  /** Maximum number of waiting documents of one organization. */
  readonly max_waiting: number;
  /** Documents up to this length, in characters, are read in the server process. */
  readonly inline_length: number;
}

export const DOCUMENT_LIMITS: DocumentLimits = {
  timeout_ms: 10_000,
  memory_mb: 512,
  at_once: 2,
  max_waiting: 8,
  inline_length: 16_384,
};

/**
 * Reads documents from tenants within time and memory limits, so that one document never blocks the server.
 * Organizations take turns, so that many documents of one do not delay the others.
 */
export interface TenantDocuments {
  /**
   * @throws environment_refused, also when a document takes too much time or memory; rate_limited when too many wait
   */
  check(document: EnvironmentDocument, organizationId: string): Promise<void>;
  /** @throws environment_refused when a document takes too much time or memory; rate_limited when too many wait */
  isShareable(document: EnvironmentDocument, index: SharedIndex, organizationId: string): Promise<boolean>;
  /**
   * @throws app_invalid and other errors of the application file, also when a manifest takes too much time or memory;
   * rate_limited when too many wait
   */
  readManifest(output: ManifestOutput, organizationId: string): Promise<Manifest>;
}

/** Message to the child process. */
export interface DocumentRequest {
  readonly task: DocumentTask;
  readonly input: unknown;
}

/** Reply of the child process. */
export type DocumentAnswer =
  | { readonly value: unknown }
  /** An internal error, with its stack. */
  | { readonly failure: string }
  | {
      readonly error: {
        readonly code: ErrorCode;
        readonly detail: string;
        readonly hint: string | undefined;
        readonly meta: Readonly<Record<string, unknown>>;
      };
    };

/** Program of the child process, with its Node options. */
interface WorkerProgram {
  readonly entry: string;
  readonly execArgv: readonly string[];
}

/** `worker` replaces the program next to this file in tests. */
export function createTenantDocuments(
  limits: DocumentLimits = DOCUMENT_LIMITS,
  worker: WorkerProgram = findWorker(),
): TenantDocuments {
  const queue = createFairQueue({ at_once: limits.at_once, of_one: 1 });

  async function run<Task extends DocumentTask>(
    task: Task,
    input: DocumentTaskInput<Task>,
    { length, organization_id: organizationId, refuse }: RunOptions,
  ): Promise<DocumentTaskValue<Task>> {
    if (length <= limits.inline_length) {
      const inline: (input: never) => unknown = DOCUMENT_TASKS[task];
      return inline(input as never) as DocumentTaskValue<Task>;
    }
    if (queue.waiting(organizationId) >= limits.max_waiting) throw tooMany(limits.max_waiting);
    const value = await queue.run(organizationId, () => runIsolated({ task, input }, limits, worker, refuse));
    return value as DocumentTaskValue<Task>;
  }

  const of = (document: EnvironmentDocument, organizationId: string): RunOptions => {
    return { length: lengthOf(document), organization_id: organizationId, refuse: environmentTooLarge };
  };

  return {
    async check(document, organizationId) {
      await run("check", { document }, of(document, organizationId));
    },
    isShareable: (document, index, organizationId) =>
      run("isShareable", { document, index }, of(document, organizationId)),
    readManifest: (output, organizationId) => {
      const refuse = (bound: string) => manifestTooLarge(output.app_file, bound);
      return run("readManifest", output, {
        length: output.written.stdout.length,
        organization_id: organizationId,
        refuse,
      });
    },
  };
}

interface RunOptions {
  /** Length of the document in characters. */
  readonly length: number;
  readonly organization_id: string;
  /** Makes the error for a document that exceeds `bound`. */
  refuse(bound: string): AppError;
}

function lengthOf({ files }: EnvironmentDocument): number {
  return files.reduce((sum, { path, text }) => sum + path.length + text.length, 0);
}

async function runIsolated(
  request: DocumentRequest,
  limits: DocumentLimits,
  { entry, execArgv }: WorkerProgram,
  refuse: RunOptions["refuse"],
): Promise<unknown> {
  const child = fork(entry, {
    execArgv: [...execArgv, `--max-old-space-size=${limits.memory_mb}`],
    serialization: "advanced",
    // Node's out-of-memory report does not belong in the server's log
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    // the process gets none of the server's environment
    env: {},
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    const answer = await new Promise<DocumentAnswer>((resolve, reject) => {
      timer = setTimeout(() => reject(refuse(`${limits.timeout_ms / 1000} seconds`)), limits.timeout_ms);
      child.once("message", (message) => resolve(message as DocumentAnswer));
      child.once("error", reject);
      const failWhenGone = () => {
        const { connected, exitCode, signalCode } = child;
        // an answer may still be in the channel
        if (connected || (exitCode === null && signalCode === null)) return;
        if (signalCode !== null) reject(refuse(`${limits.memory_mb} MB of memory`));
        else reject(new Error(`The process that reads a document ended with code ${exitCode}.`));
      };
      child.once("exit", failWhenGone);
      child.once("disconnect", failWhenGone);
      // a process that exits while the message is sent reports the reason through its exit
      child.send(request, () => undefined);
    });
    if ("value" in answer) return answer.value;
    if ("failure" in answer) throw new Error(answer.failure);
    const { code, detail, hint, meta } = answer.error;
    throw appError(code, { detail, meta, ...(hint === undefined ? {} : { hint }) });
  } finally {
    clearTimeout(timer);
    await end(child);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** The bundle has the worker next to the server. A source checkout first loads a TypeScript loader. */
function findWorker(): WorkerProgram {
  const of = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  if (!import.meta.url.endsWith(".ts")) return { entry: of("./documents-worker.js"), execArgv: [] };
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  return { entry: of("./documents-worker.ts"), execArgv: ["--conditions=source", "--import", tsx] };
}

function tooMany(maxWaiting: number): AppError {
  return appError("rate_limited", {
    detail: `The organization has ${maxWaiting} documents waiting, and the maximum is ${maxWaiting}.`,
    hint: "Wait until other updates of the organization are planned, then try again.",
    meta: { most_waiting: maxWaiting, retry_after_s: 10 },
  });
}

function environmentTooLarge(bound: string): AppError {
  return appError("environment_refused", {
    detail: `The environment cannot be built: reading its files takes more than ${bound}.`,
    hint: "Correct the lock, or lock fewer packages: uv lock",
  });
}

function manifestTooLarge(appFile: string, bound: string): AppError {
  return appError("app_invalid", {
    detail: `${appFile} cannot be read: reading its manifest takes more than ${bound}.`,
    hint: "Declare fewer tables, or divide the application among several databases.",
    meta: { app_file: appFile },
  });
}
