import { AppError } from "@appdb/contract/errors";
import { DOCUMENT_TASKS } from "./document-tasks.ts";
import type { DocumentAnswer, DocumentRequest } from "./tenant-documents.ts";

// The entry of a process (tenant-documents.ts): it computes one task, answers and ends. A thread would not do: V8 ends the whole
// process when a thread's memory has no room for one large piece.
process.once("message", (request: DocumentRequest) => {
  process.send?.(answer(request), undefined, {}, () => process.disconnect());
});

function answer({ input, task }: DocumentRequest): DocumentAnswer {
  try {
    // the union of inputs goes with the union of tasks
    const run: (input: never) => unknown = DOCUMENT_TASKS[task];
    return { value: run(input as never) };
  } catch (error) {
    if (!(error instanceof AppError))
      return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    const { code, hint, message, meta } = error;
    return { error: { code, detail: message, hint, meta } };
  }
}
