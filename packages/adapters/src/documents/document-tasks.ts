import { checkEnvironment } from "@appdb/adapters/environments/check-environment";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { isShareable, type SharedIndex } from "./lock-sources.ts";

/** What is computed from documents that tenants send. Everything given and answered can be sent between threads. */
export const DOCUMENT_TASKS = {
  /** @throws environment_refused */
  check({ document }: { readonly document: EnvironmentDocument }): boolean {
    checkEnvironment(document);
    return true;
  },
  isShareable({ document, index }: { readonly document: EnvironmentDocument; readonly index: SharedIndex }): boolean {
    return isShareable(document, index);
  },
} as const;

export type DocumentTask = keyof typeof DOCUMENT_TASKS;
export type DocumentTaskInput<Task extends DocumentTask> = Parameters<(typeof DOCUMENT_TASKS)[Task]>[0];
