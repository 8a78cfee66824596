import type { Socket } from "node:net";

const CANCEL = 80_877_102;
/** TLS and GSSAPI. A refusal is one byte. */
const ENCRYPTION: readonly number[] = [80_877_103, 80_877_104];
const NO_ENCRYPTION = "N";
const HEAD_BYTES = 8;
/** As in PostgreSQL. */
const MAX_BYTES = 10_000;
/** A client sends its first message at once. */
const TIMEOUT_MS = 5_000;

/**
 * Reads the first message of a client, which names its user, or cancels a statement. Other users of the machine can
 * reach the port too: a connection that does not name the session's user, which they do not know, takes none of its
 * connections. Undefined for such a connection.
 */
export async function readStartup(socket: Socket, user: string): Promise<Buffer | undefined> {
  const timer = setTimeout(() => socket.destroy(), TIMEOUT_MS);
  try {
    let bytes = Buffer.alloc(0);
    for (;;) {
      const length = bytes.length < HEAD_BYTES ? HEAD_BYTES : bytes.readUInt32BE(0);
      if (length < HEAD_BYTES || length > MAX_BYTES) return undefined;
      if (bytes.length < length || bytes.length < HEAD_BYTES) {
        const more = await nextChunk(socket);
        if (more === undefined) return undefined;
        bytes = Buffer.concat([bytes, more]);
        continue;
      }
      const request = bytes.readUInt32BE(4);
      if (!ENCRYPTION.includes(request)) return request === CANCEL || names(bytes, length, user) ? bytes : undefined;
      bytes = bytes.subarray(length);
      socket.write(NO_ENCRYPTION);
    }
  } finally {
    clearTimeout(timer);
  }
}

function names(bytes: Buffer, length: number, user: string): boolean {
  const words = bytes.toString("utf8", HEAD_BYTES, length).split("\0");
  const at = words.findIndex((word, place) => place % 2 === 0 && word === "user");
  return at !== -1 && words[at + 1] === user;
}

/** Undefined when the connection has ended. */
async function nextChunk(socket: Socket): Promise<Buffer | undefined> {
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) return chunk;
    if (socket.readableEnded || socket.destroyed) return undefined;
    await new Promise<void>((resolve) => {
      const done = () => {
        for (const event of EVENTS) socket.off(event, done);
        resolve();
      };
      for (const event of EVENTS) socket.on(event, done);
    });
  }
}

const EVENTS = ["readable", "end", "close"] as const;
