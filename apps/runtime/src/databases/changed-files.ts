import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import type { Logger } from "@appdb/engine/ports";

/**
 * Tells, when a worker has started, which of the application's files are not those of the last `service update`: the worker of a local
 * service runs them as they lie there. The same files are told once.
 */
export function watchFiles({ manifest, runtime }: Pick<ServiceSpec, "manifest" | "runtime">, log: Logger): () => void {
  let told = "";
  return () => {
    const changed = manifest.modules
      .filter(({ path, sha256 }) => digestOf(join(runtime.project_root, path)) !== sha256)
      .map(({ path }) => path);
    const now = changed.join(", ");
    if (now === told) return;
    told = now;
    if (now === "") return;
    log.warn(
      { files: now, next: "cli service update" },
      "a worker started with files that changed since the last update",
    );
  };
}

/** Undefined for a file that is gone. */
function digestOf(path: string): string | undefined {
  return existsSync(path) ? createHash("sha256").update(readFileSync(path)).digest("hex") : undefined;
}
