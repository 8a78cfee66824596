import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { type AppError, appError, type ErrorCode } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { createFairQueue } from "../processes/fair-queue.ts";
import {
  DOCUMENT_TASKS,
  type DocumentTask,
  type DocumentTaskInput,
  type DocumentTaskValue,
  type ManifestOutput,
} from "./document-tasks.ts";
import type { SharedIndex } from "./lock-sources.ts";
/** Bounds on the work for one document. */
export interface DocumentLimits {
  readonly timeout_ms: number;
  /** Memory of the thread. */
  readonly memory_mb: number;
  /** Threads at a time; more documents wait. An organization has one at a time. */
  readonly at_once: number;
  /** Documents of one organization that wait at a time. */
  readonly most_waiting: number;
  /** Characters of a document that is small enough to be read without a thread. */
  readonly inline_length: number;
}

export const DOCUMENT_LIMITS: DocumentLimits = {
  timeout_ms: 10_000,
  memory_mb: 512,
  at_once: 2,
  most_waiting: 8,
  inline_length: 16_384,
};

/**
 * Reads documents that tenants send, within bounds of time and memory: one document never holds up the server. Organizations take turns,
 * so that many documents of one hold up no other.
 */
export interface TenantDocuments {
  /** @throws environment_refused, also for a document that takes too much time or memory; rate_limited when too many wait */
  check(document: EnvironmentDocument, organization_id: string): Promise<void>;
  /** @throws environment_refused for a document that takes too much time or memory; rate_limited when too many wait */
  isShareable(document: EnvironmentDocument, index: SharedIndex, organization_id: string): Promise<boolean>;
  /** @throws app_invalid and its kin, also for a manifest that takes too much time or memory; rate_limited when too many wait */
  readManifest(output: ManifestOutput, organization_id: string): Promise<Manifest>;
}

/** What a thread is given. */
export interface DocumentRequest {
  readonly task: DocumentTask;
  readonly input: unknown;
}

/** What a thread answers. */
export type DocumentAnswer =
  | { readonly value: unknown }
  | {
      readonly error: {
        readonly code: ErrorCode;
        readonly detail: string;
        readonly hint: string | undefined;
        readonly meta: Readonly<Record<string, unknown>>;
      };
    };

export function createTenantDocuments(limits: DocumentLimits = DOCUMENT_LIMITS): TenantDocuments {
  const queue = createFairQueue({ at_once: limits.at_once, of_one: 1 });

  async function run<Task extends DocumentTask>(
    task: Task,
    input: DocumentTaskInput<Task>,
    { length, organization_id, refuse }: RunOptions,
  ): Promise<DocumentTaskValue<Task>> {
    if (length <= limits.inline_length) {
      const inline: (input: never) => unknown = DOCUMENT_TASKS[task];
      return inline(input as never) as DocumentTaskValue<Task>;
    }
    if (queue.waiting(organization_id) >= limits.most_waiting) throw tooMany(limits.most_waiting);
    const value = await queue.run(organization_id, () => runInThread({ task, input }, limits, refuse));
    return value as DocumentTaskValue<Task>;
  }

  const of = (document: EnvironmentDocument, organization_id: string): RunOptions => {
    return { length: lengthOf(document), organization_id, refuse: environmentTooMuch };
  };

  return {
    async check(document, organization_id) {
      await run("check", { document }, of(document, organization_id));
    },
    isShareable: (document, index, organization_id) =>
      run("isShareable", { document, index }, of(document, organization_id)),
    readManifest: (output, organization_id) => {
      const refuse = (bound: string) => manifestTooMuch(output.app_file, bound);
      return run("readManifest", output, { length: output.written.stdout.length, organization_id, refuse });
    },
  };
}

interface RunOptions {
  /** Characters of the document. */
  readonly length: number;
  readonly organization_id: string;
  /** The refusal of a document that takes more than `bound`. */
  refuse(bound: string): AppError;
}

function lengthOf({ files }: EnvironmentDocument): number {
  return files.reduce((sum, { path, text }) => sum + path.length + text.length, 0);
}

async function runInThread(
  request: DocumentRequest,
  limits: DocumentLimits,
  refuse: RunOptions["refuse"],
): Promise<unknown> {
  const { entry, options } = findWorker();
  const worker = new Worker(entry, {
    ...options,
    workerData: request,
    // nothing of the server's is in its reach
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: limits.memory_mb },
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    const answer = await new Promise<DocumentAnswer>((resolve, reject) => {
      timer = setTimeout(() => reject(refuse(`${limits.timeout_ms / 1000} seconds`)), limits.timeout_ms);
      worker.once("message", resolve);
      worker.once("error", (error) =>
        reject(isOutOfMemory(error) ? refuse(`${limits.memory_mb} MB of memory`) : error),
      );
      worker.once("exit", (code) => reject(new Error(`The thread that reads a document ended with code ${code}.`)));
    });
    if ("value" in answer) return answer.value;
    const { code, detail, hint, meta } = answer.error;
    throw appError(code, { detail, meta, ...(hint === undefined ? {} : { hint }) });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

/** In the bundle the worker lies beside the server. From source a thread first loads what reads TypeScript. */
function findWorker(): { readonly entry: URL | string; readonly options: WorkerOptions } {
  if (!import.meta.url.endsWith(".ts")) {
    return { entry: new URL("./documents-worker.js", import.meta.url), options: { execArgv: [] } };
  }
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx"));
  // by its file: `resolve` finds what `require` would load
  const loader = new URL("./esm/api/index.mjs", tsx).href;
  const file = new URL("./documents-worker.ts", import.meta.url).href;
  return {
    entry: `import("${loader}").then(({ register }) => { register(); return import("${file}"); });`,
    options: { eval: true, execArgv: ["--conditions=source"] },
  };
}

function isOutOfMemory(error: Error): boolean {
  return "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

function tooMany(most_waiting: number): AppError {
  return appError("rate_limited", {
    detail: `The organization has ${most_waiting} documents that wait to be read, and ${most_waiting} are the most.`,
    hint: "Wait until other updates of the organization are planned, then try again.",
    meta: { most_waiting, retry_after_s: 10 },
  });
}

function environmentTooMuch(bound: string): AppError {
  return appError("environment_refused", {
    detail: `The environment cannot be built: to read its files takes more than ${bound}.`,
    hint: "Correct the lock, or lock fewer packages: uv lock",
  });
}

function manifestTooMuch(app_file: string, bound: string): AppError {
  return appError("app_invalid", {
    detail: `${app_file} cannot be read: its manifest takes more than ${bound} to read.`,
    hint: "Declare fewer tables, or divide the application among several databases.",
    meta: { app_file },
  });
}
