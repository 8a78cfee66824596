import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, parse } from "node:path";
import { isProgramModule, programModule } from "@appdb/contract/program-code";
import type { Runtime } from "@appdb/contract/runtime";
import { makePrivateFolder } from "@appdb/system/files/private-folder";
import { writePrivateFile } from "@appdb/system/processes/private-files";

const CONTENT = ".content";

/** What workers import in place of the program's own module. */
const LOADER = `"""Functions of a program. This file is deleted when the program has ended."""

from appdb.worker.programs import load

load(globals())
`;

/**
 * Functions of running programs: each owner, a process or a lease, has a private folder with a module and its content
 * for each function. Workers get the folders on their import path. Content is never read here.
 */
export class ProgramCode {
  readonly #folder: string;
  readonly #isAlive: (owner: string) => boolean;
  readonly #returned: (modules: readonly string[]) => Promise<void>;

  /**
   * `isAlive`: whether an owner, the name of a folder, still runs. `returned` waits for modules that running programs are
   * about to store.
   */
  constructor(
    folder: string,
    isAlive: (owner: string) => boolean,
    returned: (modules: readonly string[]) => Promise<void> = async () => undefined,
  ) {
    this.#folder = folder;
    this.#isAlive = isAlive;
    this.#returned = returned;
  }

  /** Stores modules of an owner, whose name is not of a caller's making. @throws disk_full */
  store(owner: string, modules: readonly string[]): void {
    const folder = join(this.#folder, owner);
    makePrivateFolder(folder);
    for (const content of modules) {
      const module = moduleOf(content);
      const path = join(folder, `${module}.py`);
      if (existsSync(path)) continue;
      writePrivateFile(join(folder, `${module}${CONTENT}`), content);
      writePrivateFile(path, LOADER);
    }
  }

  /**
   * A runtime whose workers also import these modules of programs. Those of ended programs are missing there, unless it is
   * `for_job`: an unfinished job keeps them.
   */
  async extend(
    runtime: Runtime,
    modules: readonly string[],
    { for_job: isForJob = false }: { readonly for_job?: boolean } = {},
  ): Promise<Runtime> {
    const wanted = modules.filter(isProgramModule);
    if (wanted.length === 0) return runtime;
    await this.#returned(wanted);
    const folders = this.#owners()
      .filter((owner) => isForJob || this.#isAlive(owner))
      .map((owner) => join(this.#folder, owner))
      .filter((folder) => wanted.some((module) => existsSync(join(folder, `${module}.py`))));
    return { ...runtime, library_paths: [...runtime.library_paths, ...folders] };
  }

  /** Deletes the modules of programs that have ended, except those that jobs need; returns whether there were any. */
  async sweep(neededByJobs: () => Promise<ReadonlySet<string>>): Promise<boolean> {
    const ended = this.#owners().filter((owner) => !this.#isAlive(owner));
    if (ended.length === 0) return false;
    const needed = await neededByJobs();
    let isAny = false;
    for (const owner of ended) {
      const folder = join(this.#folder, owner);
      const files = readdirSync(folder);
      const isNeeded = (file: string) => needed.has(parse(file).name);
      const unneeded = files.filter((file) => isProgramModule(parse(file).name) && !isNeeded(file));
      const paths = files.some(isNeeded) ? unneeded.map((file) => join(folder, file)) : [folder];
      for (const path of paths) rmSync(path, { recursive: true, force: true });
      isAny ||= paths.length > 0;
    }
    return isAny;
  }

  /** The sizes of the modules of all owners but these. */
  sizesWithout(owners: ReadonlySet<string>): number[] {
    const others = this.#owners().filter((owner) => !owners.has(owner));
    return others.flatMap((owner) => {
      const folder = join(this.#folder, owner);
      const contents = readdirSync(folder).filter((file) => parse(file).ext === CONTENT);
      return contents.map((file) => statSync(join(folder, file)).size);
    });
  }

  #owners(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : [];
  }
}

/** The name of a module by its content in base64. */
export function moduleOf(content: string): string {
  return programModule(createHash("sha256").update(Buffer.from(content, "base64")).digest("hex"));
}
