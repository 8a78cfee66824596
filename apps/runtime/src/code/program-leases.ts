import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { ManifestFunction } from "@appdb/contract/manifest";
import { programModuleOf } from "@appdb/contract/program-code";
import {
  PROGRAM_LEASE_SECONDS,
  type PROGRAM_LIMITS,
  type ProgramCodeRequest,
  type ProgramLease,
} from "@appdb/contract/routes/programs";

import type { Clock, Logger } from "@appdb/engine/ports";
import { moduleOf, ProgramCode } from "./program-code.ts";
import type { ProgramReturns } from "./program-returns.ts";

const SWEEP_MS = 5_000;

interface Lease {
  expires_at: number;
  /** The tree of project files from which its functions import. */
  files: string | null;
  /** Sizes of its modules, by name. */
  readonly modules: Map<string, number>;
  /** By id. */
  readonly functions: Map<string, { readonly definition: ManifestFunction; readonly bytes: number }>;
}

export interface ProgramLeasesDeps {
  /** Of this database alone. Only its content is deleted: a sandbox shows the folder to workers. */
  readonly folder: string;
  /** A clock that cannot be set. */
  readonly clock: Clock;
  readonly limits: typeof PROGRAM_LIMITS;
  /** `3.12`: the Python of the database's workers, if it is known. */
  readonly python: string | undefined;
  /** Functions that programs store again after a start. */
  readonly returns: Pick<ProgramReturns, "keep" | "wait">;
  /** Modules that unfinished jobs call: they outlive the program. */
  readonly neededByJobs: () => Promise<ReadonlySet<string>>;
  readonly log: Logger;
  /** Called when functions have ended or were added: workers may have been started with or without them. */
  readonly onChange: () => void;
}

/** A function of a program that runs elsewhere, and the tree from which it imports. */
export interface LeasedFunction {
  readonly definition: ManifestFunction;
  readonly files: string | null;
}

/**
 * Functions of programs that run elsewhere. A program has them under a lease, which ends unless the program renews it.
 * No code outlives this process: it deletes all content at its end and, after it was killed, at its next start. Programs
 * store their functions again, and work that calls them waits (`ProgramReturns`).
 */
export class ProgramLeases implements Disposable {
  readonly code: ProgramCode;
  readonly #deps: ProgramLeasesDeps;
  /** By the names of their folders. */
  readonly #leases = new Map<string, Lease>();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: ProgramLeasesDeps) {
    this.#deps = deps;
    this.code = new ProgramCode(
      deps.folder,
      (owner) => this.#living(owner) !== undefined,
      (modules) => deps.returns.wait(modules),
    );
    this.#deleteContent();
    this.#timer = setInterval(() => {
      this.sweep().catch((error: unknown) => deps.log.warn({ err: error }, "looking for ended programs failed"));
    }, SWEEP_MS);
    this.#timer.unref();
  }

  /** Begins a lease. @throws program_python, program_quota, invalid_request, disk_full */
  store(sent: ProgramCodeRequest, files: string | null): ProgramLease {
    const living = [...this.#leases.values()].filter(({ expires_at: at }) => at > this.#deps.clock.now());
    this.#checkLimit("programs", living.length, 1);
    const lease: Lease = { expires_at: 0, files, modules: new Map(), functions: new Map() };
    return this.#keep(randomBytes(16).toString("hex"), lease, sent);
  }

  /** Renews a lease and stores more. @throws program_not_found; as `store` */
  renew(program: string, sent: ProgramCodeRequest, files: string | null): ProgramLease {
    const lease = this.#living(ownerOf(program));
    if (lease === undefined) throw notFound();
    lease.files = files;
    return this.#keep(program, lease, sent);
  }

  /** Ends a lease, also one that has ended. */
  async end(program: string): Promise<void> {
    if (!this.#leases.delete(ownerOf(program))) return;
    this.#tellModules();
    await this.sweep();
  }

  /** Waits for functions that running programs are about to store again, by id. */
  async returned(ids: readonly string[]): Promise<void> {
    await this.#deps.returns.wait(ids.map(programModuleOf));
  }

  /** A function of a living lease; undefined: no program that runs has stored it. */
  find(id: string): LeasedFunction | undefined {
    for (const owner of this.#leases.keys()) {
      const lease = this.#living(owner);
      const definition = lease?.functions.get(id)?.definition;
      if (lease !== undefined && definition !== undefined) return { definition, files: lease.files };
    }
    return undefined;
  }

  /** Deletes the functions of leases that have ended. */
  async sweep(): Promise<void> {
    const expired = [...this.#leases.keys()].filter((owner) => this.#living(owner) === undefined);
    for (const owner of expired) this.#leases.delete(owner);
    if (expired.length > 0) this.#tellModules();
    if (await this.code.sweep(this.#deps.neededByJobs)) this.#deps.onChange();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#leases.clear();
    this.#deleteContent();
  }

  #deleteContent(): void {
    const { folder } = this.#deps;
    if (!existsSync(folder)) return;
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  }

  #living(owner: string): Lease | undefined {
    const lease = this.#leases.get(owner);
    return lease === undefined || lease.expires_at <= this.#deps.clock.now() ? undefined : lease;
  }

  #keep(program: string, lease: Lease, { functions, modules, python }: ProgramCodeRequest): ProgramLease {
    this.#checkPython(python);
    const added = new Map<string, string>();
    for (const content of modules) {
      const name = moduleOf(content);
      if (!lease.modules.has(name)) added.set(name, content);
    }
    for (const { id, module } of functions) {
      if (!id.startsWith(`${module}:`) || !(lease.modules.has(module) || added.has(module))) throw foreign(id);
    }
    const described = new Map(functions.map((one) => [one.id, { definition: one, bytes: JSON.stringify(one).length }]));
    const others = [...this.#leases.values()];
    // those that jobs keep after the end of their lease use the disk too
    const kept = this.code.sizesWithout(new Set(this.#leases.keys()));
    const stored = [...kept, ...others.flatMap((one) => [...one.modules.values()])];
    // a function that is sent again replaces itself
    const known = others.flatMap((one) => [...one.functions].filter(([id]) => one !== lease || !described.has(id)));
    const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);
    const sizes = (some: readonly { readonly bytes: number }[]) => sum(some.map(({ bytes }) => bytes));
    this.#checkLimit("program_modules", stored.length, added.size);
    this.#checkLimit("program_functions", known.length, described.size);
    this.#checkLimit(
      "program_bytes",
      sum(stored) + sizes(known.map(([, one]) => one)),
      sum([...added.values()].map(({ length }) => length)) + sizes([...described.values()]),
    );
    const owner = ownerOf(program);
    if (added.size > 0) this.code.store(owner, [...added.values()]);
    for (const [name, content] of added) lease.modules.set(name, content.length);
    for (const [id, one] of described) lease.functions.set(id, one);
    lease.expires_at = this.#deps.clock.now() + PROGRAM_LEASE_SECONDS * 1_000;
    this.#leases.set(owner, lease);
    if (added.size > 0) {
      this.#tellModules();
      this.#deps.onChange();
    }
    return { program, lease_seconds: PROGRAM_LEASE_SECONDS };
  }

  #tellModules(): void {
    this.#deps.returns.keep([...this.#leases.values()].flatMap(({ modules }) => [...modules.keys()]));
  }

  #checkPython(theirs: string): void {
    const { python: own } = this.#deps;
    if (own === undefined || own === theirs) return;
    throw appError("program_python", {
      detail: `The program runs Python ${theirs}, and the database runs Python ${own}. Functions of a program cannot move to another version.`,
      hint: `Run the program with Python ${own}, or set requires-python of the project to ${theirs} and run: cli db update`,
      meta: { program: theirs, database: own },
    });
  }

  #checkLimit(limit: keyof typeof PROGRAM_LIMITS, used: number, more: number): void {
    const value = this.#deps.limits[limit];
    if (used + more <= value) return;
    throw appError("program_quota", {
      detail: `The database has ${used} of ${value} ${limit}, and the request needs ${more} more. Nothing was stored.`,
      hint: "End other programs that use the database, or move functions into a module of the project and run: cli db update",
      meta: { limit, value, used, more },
    });
  }
}

/** The folder of a lease, which workers see: with the name of the lease itself, they could end it. */
function ownerOf(program: string): string {
  return createHash("sha256").update(program).digest("hex").slice(0, 32);
}

function notFound(): Error {
  return appError("program_not_found", {
    detail:
      "The database does not have the functions of the program: their lease has ended, or the database restarted.",
    hint: "Store the functions again, as the library does.",
  });
}

function foreign(id: string): Error {
  return appError("invalid_request", {
    detail: `The function ${id.slice(0, 200)} is not of a module of this program.`,
    hint: "Send its module in modules.",
    errors: [{ pointer: "/functions", detail: "Its module is not stored." }],
  });
}
