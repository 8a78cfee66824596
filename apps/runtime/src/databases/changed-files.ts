import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import type { Logger } from "@appdb/engine/ports";

/**
 * Logs, when a worker has started, which application files differ from the last `service update`. A local service's
 * workers run the current files. Repeated changes are logged once.
 */
export function watchFiles({ manifest, runtime }: Pick<ServiceSpec, "manifest" | "runtime">, log: Logger): () => void {
  let reported = "";
  return () => {
    const changed = manifest.modules
      .filter(({ path, sha256 }) => digestOf(join(runtime.project_root, path)) !== sha256)
      .map(({ path }) => path);
    const now = changed.join(", ");
    if (now === reported) return;
    reported = now;
    if (now === "") return;
    log.warn(
      { files: now, next: "cli service update" },
      "a worker started with files that changed since the last update",
    );
  };
}

/** Undefined for a deleted file. */
function digestOf(path: string): string | undefined {
  return existsSync(path) ? createHash("sha256").update(readFileSync(path)).digest("hex") : undefined;
}
