import { AppError, appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { isProgramModule } from "@appdb/contract/program-code";
import type { Runtime } from "@appdb/contract/runtime";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import type { Logger } from "@appdb/engine/ports";
import { findMissingModules } from "@appdb/python-runtime/workers/find-missing-modules";

/** Modules of trees that are remembered as found. */
const MAX_KNOWN = 1_000;

export interface ModuleCheckDeps {
  readonly limits: Pick<ServiceSpec["limits"], "function_timeout_ms" | "worker_memory_mb">;
  readonly log: Logger;
  /** Of the database, for messages. */
  readonly uri: string;
}

/**
 * Checks before a change that the workers of a database can import the modules of its functions. Trees are immutable, and
 * the pod's Python does not change while it runs: a module is looked for once in each tree.
 */
export class ModuleCheck {
  readonly #deps: ModuleCheckDeps;
  readonly #known = new Set<string>();
  /** One Python at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: ModuleCheckDeps) {
    this.#deps = deps;
  }

  /** `files`: the tree of the runtime; null: the database has none. @throws function_missing, app_invalid */
  async require(
    functions: Manifest["functions"],
    {
      files,
      runtime,
      signal,
    }: { readonly files: string | null; readonly runtime: Runtime; readonly signal: AbortSignal },
  ): Promise<void> {
    const work = async () => {
      const keyOf = (module: string) => `${files ?? ""}\n${module}`;
      const asked = functions.map(({ module }) => module).filter((module) => !isProgramModule(module));
      const unknown = [...new Set(asked)].filter((module) => !this.#known.has(keyOf(module)));
      if (unknown.length === 0) return;
      const missing = await this.#find(unknown, runtime, signal);
      const first = functions.find(({ module }) => missing.includes(module));
      if (first !== undefined) throw this.#missing(first, files);
      if (this.#known.size > MAX_KNOWN) this.#known.clear();
      for (const module of unknown) this.#known.add(keyOf(module));
    };
    const own = this.#last.then(work, work);
    this.#last = own;
    await own;
  }

  async #find(modules: readonly string[], runtime: Runtime, signal: AbortSignal): Promise<readonly string[]> {
    const { limits, log, uri } = this.#deps;
    try {
      return await findMissingModules({
        runtime,
        modules,
        memory_mb: limits.worker_memory_mb,
        function_timeout_ms: limits.function_timeout_ms,
        signal,
        onOutput: (line) => log.info({ line }, "output"),
      });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "worker_unavailable") throw error;
      throw appError("app_invalid", {
        detail: `${error.message} Nothing was changed.`,
        hint: `Correct the module, then run: cli db update ${uri}`,
        cause: error,
      });
    }
  }

  #missing({ id, module }: Manifest["functions"][number], files: string | null): Error {
    const { uri } = this.#deps;
    const name = id.slice(0, 200);
    const why =
      files === null
        ? `${uri} has no project files`
        : `the project files of ${uri} have no module ${module.slice(0, 200)}`;
    return appError("function_missing", {
      detail: `The change calls the function ${name}, and ${why}. Nothing was changed.`,
      hint: `Add ${module.replaceAll(".", "/").slice(0, 200)}.py to the project, then run: cli db update ${uri}`,
      meta: { function: name },
    });
  }
}
