import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import type { Logger } from "@appdb/engine/ports";
import { readManifest, withoutPaths } from "@appdb/python-runtime/workers/read-manifest";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import type { TreeRuntimes } from "./tree-runtimes.ts";

/** A plan is followed by its update: what was read for the one serves the other. */
const MAX_KEPT = 4;

export interface TreeManifestsDeps {
  /** Where those that were applied are kept. */
  readonly folder: string;
  readonly runtimes: TreeRuntimes;
  readonly log: Logger;
}

/** What the application files of trees declare. A tree never changes, and the pod's Python does not while it runs. */
export class TreeManifests {
  readonly #deps: TreeManifestsDeps;
  readonly #read = new Map<string, Manifest>();

  constructor(deps: TreeManifestsDeps) {
    this.#deps = deps;
  }

  /** Imports the file in the image's Python. @throws blobs_missing; as readManifest, with paths from the project's root */
  async read(digest: string, appFile: string, signal?: AbortSignal): Promise<Manifest> {
    const key = `${digest}/${appFile}`;
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const runtime = this.#deps.runtimes.of(digest);
    const onOutput = (text: string) => this.#deps.log.info({ line: text.trimEnd() }, "output");
    const document = await readManifest({ runtime, app_file: appFile, signal, onOutput }).catch((error: unknown) => {
      throw withoutPaths(error, runtime);
    });
    const parsed = manifestSchema.safeParse(document);
    if (!parsed.success) {
      throw appError("manifest_invalid", {
        detail: "What the library in the application's environment wrote does not fit.",
        hint: "Upgrade it there: pip install --upgrade appdb",
        cause: parsed.error,
      });
    }
    const [oldest] = this.#read.keys();
    if (this.#read.size >= MAX_KEPT && oldest !== undefined) this.#read.delete(oldest);
    this.#read.set(key, parsed.data);
    return parsed.data;
  }

  /** Keeps what a runtime declared when it was applied: rows are written by that, whatever its file would say now. */
  keep(runtimeId: string, manifest: Manifest): void {
    writePrivateFile(this.#fileOf(runtimeId), JSON.stringify(manifest));
  }

  /** What a runtime declared when it was applied; read anew when nothing was kept. @throws as `read` */
  async applied(runtimeId: string): Promise<Manifest> {
    const file = this.#fileOf(runtimeId);
    if (existsSync(file)) return manifestSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    const cut = runtimeId.indexOf("/");
    return await this.read(runtimeId.slice(0, cut), runtimeId.slice(cut + 1));
  }

  /** Removes what was kept of runtimes other than these. */
  keepOnly(runtimeIds: readonly string[]): void {
    if (!existsSync(this.#deps.folder)) return;
    const wanted = new Set(runtimeIds.map((id) => this.#fileOf(id)));
    for (const name of readdirSync(this.#deps.folder)) {
      const path = join(this.#deps.folder, name);
      if (!wanted.has(path)) rmSync(path, { force: true });
    }
  }

  #fileOf(runtimeId: string): string {
    return join(this.#deps.folder, `${createHash("sha256").update(runtimeId).digest("hex")}.json`);
  }
}
