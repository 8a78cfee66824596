import { existsSync, readFileSync } from "node:fs";
import { PROGRAM_LEASE_SECONDS } from "@appdb/contract/routes/programs";
import type { Logger } from "@appdb/engine/ports";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import * as z from "zod";

/** Programs renew every third of their lease, and then learn that the database has restarted. */
const WAIT_MS = (PROGRAM_LEASE_SECONDS / 3 + 5) * 1_000;

const expectedSchema = z.array(z.string());

export interface ProgramReturnsDeps {
  /** Names of the modules of living leases, for the next start. It has no code. */
  readonly file: string;
  readonly log: Logger;
}

/**
 * Modules that programs had stored when the database stopped. Programs that still run store them again soon after its
 * start. Until then, work that calls them waits. Modules of programs that have ended do not return, so the wait is bounded.
 */
export class ProgramReturns implements Disposable {
  readonly #deps: ProgramReturnsDeps;
  readonly #expected: Set<string>;
  readonly #waiting = new Set<() => void>();
  #living: readonly string[] = [];
  #written: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ProgramReturnsDeps) {
    this.#deps = deps;
    this.#written = existsSync(deps.file) ? readFileSync(deps.file, "utf8") : "[]";
    this.#expected = new Set(parseNames(this.#written));
  }

  /** Begins the bounded time: programs reach the database from now on. */
  begin(): void {
    if (this.#timer !== undefined || this.#expected.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#expected.clear();
      this.#write();
      this.#wake();
    }, WAIT_MS);
    this.#timer.unref();
  }

  /** The modules of living leases, after each change. */
  keep(living: readonly string[]): void {
    this.#living = living;
    for (const name of living) this.#expected.delete(name);
    this.#write();
    this.#wake();
  }

  /** Waits until these modules are stored or cannot be expected any more. */
  async wait(modules: readonly string[]): Promise<void> {
    while (modules.some((module) => this.#expected.has(module))) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#expected.clear();
    this.#wake();
  }

  /** With the expected ones: a database that stops before its programs have returned waits for them after its next start. */
  #write(): void {
    const text = JSON.stringify([...new Set([...this.#living, ...this.#expected])].sort());
    if (text === this.#written) return;
    try {
      writePrivateFile(this.#deps.file, text);
      this.#written = text;
    } catch (error) {
      // the next start only waits for other functions
      this.#deps.log.warn({ err: error }, "the names of functions of programs were not written");
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** A file that cannot be read delays no work. */
function parseNames(text: string): readonly string[] {
  try {
    return expectedSchema.parse(JSON.parse(text));
  } catch {
    return [];
  }
}
