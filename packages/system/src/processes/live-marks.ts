import { closeSync, constants, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { readIfExists } from "../files/read-if-exists.ts";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "./process-identity.ts";

/**
 * Marks that end with their process, however it ends. On Linux a mark is a socket that listens: the kernel closes it
 * with the process, and any process that sees the folder can ask, in another namespace of process ids too. Other
 * systems have no such namespaces, and a mark is a file with the identity of its process.
 */
const END = ".live";
const HAS_SOCKETS = process.platform === "linux";
/** Nothing listens there. Another error, as of a long queue, counts as alive. */
const DEAD = ["ECONNREFUSED", "ENOENT", "ENOTSOCK"];

/** Marks a name as that of a living process. The folder exists, and only this program and its kind write it.
 *  @throws home_not_writable for a file system without sockets */
export function markAlive(folder: string, name: string): Disposable {
  const path = join(folder, name + END);
  if (!HAS_SOCKETS) {
    writeFileSync(path, JSON.stringify(identifyProcess(process.pid)), { mode: 0o600 });
    return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
  }
  const server = createServer((socket) => socket.destroy());
  // The missing file below reports it.
  server.on("error", () => undefined);
  // A name in the folder gets its place when it listens already: no process sees it in between.
  withShortPath(folder, (short) => server.listen(join(short, `.${name}`)));
  server.unref();
  try {
    renameSync(join(folder, `.${name}`), path);
  } catch (cause) {
    server.close();
    throw appError("home_not_writable", {
      detail: `No Unix socket can be made in ${folder}, where it shows which processes live.`,
      hint: "Set SERVICE_HOME to a folder on another disk.",
      meta: { folder },
      cause,
    });
  }
  return {
    [Symbol.dispose]: () => {
      rmSync(path, { force: true });
      server.close();
    },
  };
}

/** The marked names of a folder, and whether their processes live. */
export async function readMarks(folder: string): Promise<ReadonlyMap<string, boolean>> {
  const names = readdirSync(folder).filter((name) => name.endsWith(END) && !name.startsWith("."));
  const found = await Promise.all(
    names.map(async (name) => [name.slice(0, -END.length), await isAlive(folder, name)] as const),
  );
  return new Map(found);
}

/** Removes the mark of a dead process. */
export function removeMark(folder: string, name: string): void {
  rmSync(join(folder, name + END), { force: true });
}

function isAlive(folder: string, name: string): boolean | Promise<boolean> {
  if (!HAS_SOCKETS) {
    const text = readIfExists(() => readFileSync(join(folder, name), "utf8"));
    return text !== undefined && isProcessAlive(JSON.parse(text) as ProcessIdentity);
  }
  return new Promise((resolve) => {
    const socket = withShortPath(folder, (short) => connect(join(short, name)));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(!DEAD.includes(code)));
  });
}

/** Paths of sockets have at most 107 bytes, those of folders more. The calls of `use` end before the descriptor does. */
function withShortPath<T>(folder: string, use: (short: string) => T): T {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return use(`/proc/self/fd/${descriptor}`);
  } finally {
    closeSync(descriptor);
  }
}
