import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { connect, type Socket } from "node:net";

/** Linux flag: opens a path without reading or writing. A socket cannot be opened otherwise. */
const O_PATH = 0o10_000_000;

/**
 * Connects to a pod's socket only. The pod owns the folder and could put a link to another socket there.
 * @throws the system's error for a missing socket; an error if it is not a socket
 */
export function connectPod(socket: string, timeoutMs: number): Socket {
  // other systems have no driver that isolates pods
  if (process.platform !== "linux") return connect({ path: socket, timeout: timeoutMs });
  const place = openSync(socket, O_PATH | constants.O_NOFOLLOW);
  try {
    if (!fstatSync(place).isSocket()) throw new Error(`${socket} is not a socket.`);
    // the inode that was checked; the path is resolved before this returns
    return connect({ path: `/proc/self/fd/${place}`, timeout: timeoutMs });
  } finally {
    closeSync(place);
  }
}
