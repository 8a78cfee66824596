import { existsSync, readFileSync } from "node:fs";
import { appError } from "@appdb/contract/errors";
import { MAX_DECLARED } from "@appdb/contract/manifest";
import { isProgramFunction } from "@appdb/contract/program-code";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { type ChangeCode, changeCodeSchema, joined, NO_CODE, without, withoutUnused } from "./change-code.ts";

/** The code of changes of a hosted database: functions of modules, and of programs, which may have ended. */
export class HostedChangeCode {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  all(): ChangeCode {
    if (!existsSync(this.#file)) return NO_CODE;
    // earlier versions kept each pool that a change ever named
    return changeCodeSchema.parse(withoutUnused(JSON.parse(readFileSync(this.#file, "utf8"))));
  }

  /** Checks before a change that its code can be kept. @throws schema_unsupported */
  admit(code: Pick<ChangeCode, "functions">): void {
    const ids = new Set([...this.all().functions, ...code.functions].map(({ id }) => id));
    if (ids.size <= MAX_DECLARED) return;
    throw appError("schema_unsupported", {
      detail: `The columns of the database would call ${ids.size} functions, the maximum is ${MAX_DECLARED}. Nothing was changed.`,
      hint: "Drop columns that call functions, or declare the tables in an application file: cli schema update",
    });
  }

  /** Keeps the code of a change while a column calls it. A function of a program stays as it was stored first. */
  keep(code: ChangeCode, isCalled: (id: string) => boolean): void {
    const known = this.all();
    const ids = new Set(known.functions.map(({ id }) => id));
    const added = code.functions.filter(({ id }) => !(isProgramFunction(id) && ids.has(id)));
    const { functions, resource_pools: pools } = joined(known, { ...code, functions: added });
    const called = functions.filter(({ id }) => isCalled(id));
    this.#write(withoutUnused({ functions: called, resource_pools: pools }));
  }

  /** The functions of an applied file are newer. */
  replaceBy(manifest: ChangeCode): void {
    this.#write(withoutUnused(without(this.all(), manifest)));
  }

  #write(code: ChangeCode): void {
    if (code.functions.length === 0 && !existsSync(this.#file)) return;
    writePrivateFile(this.#file, JSON.stringify(code));
  }
}
