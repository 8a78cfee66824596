/** One process as the system lists it. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/**
 * What is asked of a system's processes. One file a system answers it; this-system.ts chooses. A system that does not answer
 * throws: an unanswered question must never count as "that process is dead", because locks are taken from dead owners.
 */
export interface ProcessSystem {
  /**
   * When the process with this pid began: text that no other process of that pid has. Undefined when there is none, or only a
   * zombie.
   * @throws daemon_failed when the system does not answer
   */
  started(pid: number): string | undefined;
  /** The command line as one text; undefined when there is no such process, or when it may not be read. @throws daemon_failed */
  commandLine(pid: number): string | undefined;
  /** Every process but zombies. @throws daemon_failed */
  list(): ProcessEntry[];
}
