import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { PodEndpoint } from "@appdb/pods/driver/pod-driver";

/** Linux flag: opens a path without reading or writing. A socket cannot be opened otherwise. */
const O_PATH = 0o10_000_000;

/**
 * Connects to a port of a pod. On this machine that is a socket and nothing else: the pod owns its folder, and may have put a link there to the socket of another
 * pod or of a program of this machine's, to which we have a right.
 * @throws what the system says of a socket that is not there; an error for what is none
 */
export function connectPod(endpoint: PodEndpoint, timeoutMs: number): Socket {
  if (endpoint.kind === "tcp") return connect({ host: endpoint.host, port: endpoint.port, timeout: timeoutMs });
  const { path: socket } = endpoint;
  // other systems have no driver that isolates pods
  if (process.platform !== "linux") return connect({ path: socket, timeout: timeoutMs });
  const socketFd = openSync(socket, O_PATH | constants.O_NOFOLLOW);
  try {
    if (!fstatSync(socketFd).isSocket()) throw new Error(`${socket} is not a socket.`);
    // the inode that was checked; the path is resolved before this returns
    return connect({ path: `/proc/self/fd/${socketFd}`, timeout: timeoutMs });
  } finally {
    closeSync(socketFd);
  }
}
