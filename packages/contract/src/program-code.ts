import * as z from "zod";

/**
 * Functions of a running program that no module has: those of a notebook, of a test, of the started file. Each travels
 * as a module of its own, named after its content. Only a worker reads the content.
 */
const MODULE = /^appdb_program_[0-9a-f]{32}$/;
export const MAX_MODULES = 200;
/** Of one module, in base64. */
export const MAX_CONTENT = 32 * 1024 * 1024;

/** The folder with the functions of programs, in the data of a hosted database. */
export const PROGRAMS_FOLDER = "programs";

export const programSchema = z.strictObject({
  /** Process on the daemon's machine. Its modules are deleted when it has ended. */
  pid: z.int().min(1),
  /** A header line and bytes of cloudpickle. The daemon makes the names of modules and files from the content. */
  modules: z.array(z.base64().max(MAX_CONTENT)).min(1).max(MAX_MODULES),
});
export type Program = z.output<typeof programSchema>;

/** Type of the error of a call whose program has ended. */
export const PROGRAM_ENDED = "ProgramEnded";

/** The name of a module by the SHA-256 hex of its content. */
export function programModule(sha256: string): string {
  return `appdb_program_${sha256.slice(0, 32)}`;
}

/** Whether a module is of a program. */
export function isProgramModule(module: string): boolean {
  return MODULE.test(module);
}

/** The module of a function, by its id. */
export function programModuleOf(id: string): string {
  return id.split(":")[0] ?? "";
}

/** Whether a function is of a program, by its id. */
export function isProgramFunction(id: string): boolean {
  return isProgramModule(programModuleOf(id));
}

/** A function's name for people: `summarize` for one of a program; others keep their id. */
export function shownFunctionName(id: string): string {
  return isProgramFunction(id) ? id.slice(id.indexOf(":") + 1).replace(/#.*$/, "") : id;
}
