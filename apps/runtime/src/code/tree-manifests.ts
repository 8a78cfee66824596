import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import { wrongName } from "@appdb/contract/manifest-names";
import type { Logger } from "@appdb/engine/ports";
import { readManifest, withoutPaths } from "@appdb/python-runtime/workers/read-manifest";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { joined } from "./change-code.ts";
import type { HostedChangeCode } from "./hosted-change-code.ts";
import { emptyManifest } from "./local-manifests.ts";
import type { TreeRuntimes } from "./tree-runtimes.ts";

/** Cache size; an update follows its plan and reuses what the plan read. */
const MAX_KEPT = 4;

export interface TreeManifestsDeps {
  /** Folder with the manifests of applied updates. */
  readonly folder: string;
  readonly runtimes: TreeRuntimes;
  /** Functions of programs that columns call. */
  readonly changes: HostedChangeCode;
  readonly log: Logger;
}

/**
 * Manifests of the application files of trees. Trees are immutable, and the pod's Python does not change while it runs.
 */
export class TreeManifests {
  readonly #deps: TreeManifestsDeps;
  readonly #read = new Map<string, Manifest>();

  constructor(deps: TreeManifestsDeps) {
    this.#deps = deps;
  }

  /**
   * Imports the file with the image's Python.
   * @throws blobs_missing; errors of readManifest, with paths relative to the project root
   */
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
      const refused = wrongName(parsed.error);
      if (refused !== undefined) throw refused;
      throw appError("manifest_invalid", {
        detail: "The library in the application's environment wrote an invalid manifest.",
        hint: "Upgrade it there: pip install --upgrade appdb",
        cause: parsed.error,
      });
    }
    const [oldest] = this.#read.keys();
    if (this.#read.size >= MAX_KEPT && oldest !== undefined) this.#read.delete(oldest);
    this.#read.set(key, parsed.data);
    return parsed.data;
  }

  /** Stores the manifest of an applied runtime. Rows are written by it, whatever its file would declare now. */
  store(runtimeId: string, manifest: Manifest): void {
    writePrivateFile(this.#fileOf(runtimeId), JSON.stringify(manifest));
    this.#deps.changes.replaceBy(manifest);
  }

  /**
   * The manifest of an applied runtime, with the code of changes that its file does not declare; read from its file when
   * it is not stored.
   * @throws the errors of `read`
   */
  async applied(runtimeId: string): Promise<Manifest> {
    const manifest = await this.#ofFiles(runtimeId);
    return { ...manifest, ...joined(this.#deps.changes.all(), manifest) };
  }

  async #ofFiles(runtimeId: string): Promise<Manifest> {
    const file = this.#fileOf(runtimeId);
    if (existsSync(file)) return manifestSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    const cut = runtimeId.indexOf("/");
    const appFile = runtimeId.slice(cut + 1);
    return appFile === "" ? emptyManifest() : await this.read(runtimeId.slice(0, cut), appFile);
  }

  /** Removes stored manifests of all other runtimes. */
  retainOnly(runtimeIds: readonly string[]): void {
    if (!existsSync(this.#deps.folder)) return;
    const retained = new Set(runtimeIds.map((id) => this.#fileOf(id)));
    for (const name of readdirSync(this.#deps.folder)) {
      const path = join(this.#deps.folder, name);
      if (!retained.has(path)) rmSync(path, { force: true });
    }
  }

  #fileOf(runtimeId: string): string {
    return join(this.#deps.folder, `${createHash("sha256").update(runtimeId).digest("hex")}.json`);
  }
}
