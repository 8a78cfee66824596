import { existsSync, readFileSync } from "node:fs";
import { type ManifestFunction, manifestSchema } from "@appdb/contract/manifest";
import { isProgramFunction } from "@appdb/contract/program-code";
import { writePrivateFile } from "@appdb/system/processes/private-files";

const functionsSchema = manifestSchema.shape.functions;

/** Definitions of programs' functions that columns of a hosted database call. Their code may be gone. */
export class ProgramFunctions {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  all(): readonly ManifestFunction[] {
    return existsSync(this.#file) ? functionsSchema.parse(JSON.parse(readFileSync(this.#file, "utf8"))) : [];
  }

  /** Keeps those among the functions of a change, while a column calls them. */
  keep(functions: readonly ManifestFunction[], isCalled: (id: string) => boolean): void {
    const known = new Map([...this.all(), ...functions].map((one) => [one.id, one]));
    const kept = [...known.values()].filter(({ id }) => isProgramFunction(id) && isCalled(id));
    if (kept.length === 0 && !existsSync(this.#file)) return;
    writePrivateFile(this.#file, JSON.stringify(kept));
  }
}
