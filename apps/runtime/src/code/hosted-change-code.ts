import { existsSync, readFileSync } from "node:fs";
import { isProgramFunction } from "@appdb/contract/program-code";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { type ChangeCode, changeCodeSchema, joined, NO_CODE, without } from "./change-code.ts";

/** The code of changes of a hosted database: functions of modules, and of programs, which may have ended. */
export class HostedChangeCode {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  all(): ChangeCode {
    return existsSync(this.#file) ? changeCodeSchema.parse(JSON.parse(readFileSync(this.#file, "utf8"))) : NO_CODE;
  }

  /** Keeps the code of a change while a column calls it. A function of a program stays as it was stored first. */
  keep(code: ChangeCode, isCalled: (id: string) => boolean): void {
    const known = this.all();
    const ids = new Set(known.functions.map(({ id }) => id));
    const added = code.functions.filter(({ id }) => !(isProgramFunction(id) && ids.has(id)));
    const { functions, resource_pools: pools } = joined(known, { ...code, functions: added });
    this.#write({ functions: functions.filter(({ id }) => isCalled(id)), resource_pools: pools });
  }

  /** The functions of an applied file are newer. */
  replaceBy(manifest: ChangeCode): void {
    this.#write(without(this.all(), manifest));
  }

  #write(code: ChangeCode): void {
    if (code.functions.length === 0 && !existsSync(this.#file)) return;
    writePrivateFile(this.#file, JSON.stringify(code));
  }
}
