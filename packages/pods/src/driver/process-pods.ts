import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { proportionalMemory } from "@appdb/system/processes/process-table";
import type { LocalDriver, LocalDriverInput } from "./local-driver.ts";
import { createLocalPods, POD_ENVIRONMENT } from "./local-pods.ts";
import { giveFolders } from "./pod-folders.ts";
import { runFamily } from "./pod-run.ts";
import { runProcessTask } from "./process-task.ts";
import type { PodFolder } from "./task-runner.ts";

/**
 * Pods as processes of our own user, each in its own session. It isolates nothing and limits only a task's time and
 * disk, so it serves one organization. A process that leaves its session is found by its environment (Linux), unless it
 * replaced that too.
 */
export function createProcessPods(input: LocalDriverInput): LocalDriver {
  const { file, node_options: nodeOptions } = input.program;
  return createLocalPods(input, {
    name: "process",
    isolates: false,
    admit(organizationId, others) {
      if (others.every((other) => other === organizationId)) return;
      throw appError("pods_one_organization", {
        detail: "The driver `process` does not isolate pods, and pods of another organization are on this machine.",
        hint: "Run the server with the driver `sandbox` to serve several organizations.",
      });
    },
    async prepare({ folders, spec }) {
      const written = folders.filter(({ mode }) => mode === "write");
      // another driver may have given them to a pod's user
      if (process.getuid?.() === 0) giveFolders(written, 0);
      else makePartsOf(written);
      return { argv: [process.execPath, ...nodeOptions, file, ...spec.args.slice(1)], env: POD_ENVIRONMENT };
    },
    begun: async () => undefined,
    processes: () => [],
    memoryBytes(record) {
      const pids = runFamily(input.folder, record).map(({ pid }) => pid);
      return proportionalMemory(pids) ?? null;
    },
    isOutOfMemory: () => false,
    release: async () => undefined,
    forgetDatabase: async () => undefined,
    run: runProcessTask,
  });
}

/** The application's code sees everything here, so that only its folders must be there. */
function makePartsOf(folders: readonly PodFolder[]): void {
  for (const { path, code_parts: parts = [] } of folders) {
    for (const { name } of parts) mkdirSync(join(path, name), { recursive: true, mode: 0o700 });
  }
}
