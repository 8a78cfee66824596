import { closeSync, readdirSync, readFileSync } from "node:fs";

/** What the system's tables of a process say of its descriptors; other systems than Linux have none. */
const DESCRIPTORS = "/proc/self/fdinfo";
/** Of a descriptor that programs which this one starts do not get: all that Node opens. */
const CLOSED_BY_EXEC = 0o2000000;
const LAST_STANDARD = 2;

/**
 * Closes what whoever started this program had left open: files and sockets of a shell, of a supervisor. Node keeps the first of them from
 * the programs that it starts and not those with higher numbers; the application's code would find them open.
 */
export function closeInherited(): void {
  for (const descriptor of listDescriptors().filter((number) => number > LAST_STANDARD)) {
    if (isInherited(descriptor)) closeSync(descriptor);
  }
}

function listDescriptors(): number[] {
  try {
    return readdirSync(DESCRIPTORS).map(Number);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`${DESCRIPTORS}/${descriptor}`, "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_BY_EXEC) === 0;
  } catch (error) {
    // it was the one by which the table was read
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
