import { parentPort, workerData } from "node:worker_threads";
import { AppError } from "@appdb/contract/errors";
import { DOCUMENT_TASKS } from "./document-tasks.ts";
import type { DocumentAnswer, DocumentRequest } from "./tenant-documents.ts";

// The entry of a worker thread (tenant-documents.ts): it computes one task, answers and ends.
parentPort?.postMessage(answer(workerData));

function answer({ input, task }: DocumentRequest): DocumentAnswer {
  try {
    // the union of inputs goes with the union of tasks
    const run: (input: never) => unknown = DOCUMENT_TASKS[task];
    return { value: run(input as never) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, hint, message, meta } = error;
    return { error: { code, detail: message, hint, meta } };
  }
}
