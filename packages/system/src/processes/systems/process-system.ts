/** One process as the system lists it. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/**
 * Operations on a system's process table. Each system has its own file, and this-system.ts selects one. A failed read
 * must throw and never mean "that process is dead", because locks are taken from dead owners.
 */
export interface ProcessSystem {
  /**
   * Start of the process with this pid, as text that differs for every process with that pid. Undefined when it does
   * not exist or is a zombie.
   * @throws daemon_failed when the system does not answer
   */
  started(pid: number): string | undefined;
  /** Command line as one text. Undefined when the process does not exist or is unreadable. @throws daemon_failed */
  commandLine(pid: number): string | undefined;
  /** All processes except zombies. @throws daemon_failed */
  list(): ProcessEntry[];
}
