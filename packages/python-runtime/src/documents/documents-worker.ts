import { AppError } from "@appdb/contract/errors";
import { DOCUMENT_TASKS } from "./document-tasks.ts";
import type { DocumentAnswer, DocumentRequest } from "./tenant-documents.ts";

// Entry point of the child process of tenant-documents.ts: it runs one task, replies and exits. A worker thread is not
// enough: V8 ends the whole process when one large allocation exceeds the memory limit of a thread.
process.once("message", (request: DocumentRequest) => {
  process.send?.(answer(request), undefined, {}, () => process.disconnect());
});

function answer({ input, task }: DocumentRequest): DocumentAnswer {
  try {
    // TypeScript cannot match the union of inputs with the union of tasks
    const run: (input: never) => unknown = DOCUMENT_TASKS[task];
    return { value: run(input as never) };
  } catch (error) {
    if (!(error instanceof AppError))
      return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    const { code, hint, message, meta } = error;
    return { error: { code, detail: message, hint, meta } };
  }
}
