import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname } from "node:path";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { socketDsn, tcpDsn } from "../client/socket-dsn.ts";
import { openRuntimeFolder } from "./runtime-folder.ts";

const LOOPBACK = "127.0.0.1";

/** Whose connection it is, and to which database. */
export interface LocalLogin {
  readonly database: string;
  readonly user: string;
  readonly password: string;
}

/** Where the PostgreSQL of a home is reached, by programs of this machine alone. */
export interface LocalAddress {
  /** In which the server's socket lies, with its lock; undefined where it has none. */
  readonly socket_folder: string | undefined;
  /** Beginning and end of a line of pg_hba.conf that lets a role in. */
  readonly rule: readonly [type: string, address: string];
  /** Makes the place ready. Before each start, while an earlier server may still run. @throws postgres_failed */
  prepare(): void;
  /** Chooses what the next server gets, once no earlier one runs. */
  claim(): Promise<void>;
  /** Removes what `prepare` made. */
  remove(): void;
  /** Settings by which the server listens there and nowhere else. */
  settings(): Readonly<Record<string, string>>;
  dsn(login: LocalLogin): string;
}

/** How each system reaches a server of its own: Windows by TCP, since Node has no unix sockets there; others by a socket in a private folder. */
export function localAddress(
  { folder, runtime_folder: runtimeFolder }: { readonly folder: string; readonly runtime_folder: string },
  platform: NodeJS.Platform = process.platform,
): LocalAddress {
  return platform === "win32" ? loopbackAddress(`${folder}/port`) : socketAddress(runtimeFolder);
}

/** A unix socket in a folder that its owner alone may enter. */
export function socketAddress(folder: string): LocalAddress {
  return {
    socket_folder: folder,
    rule: ["local", ""],
    // cleaners of temporary folders may have taken it
    prepare: () => openRuntimeFolder(folder),
    claim: async () => undefined,
    remove: () => rmSync(folder, { recursive: true, force: true }),
    settings: () => ({ unix_socket_directories: folder, listen_addresses: "" }),
    dsn: (login) => socketDsn({ folder, ...login }),
  };
}

/**
 * A port of loopback, which other users of the machine reach as well: each connection shows a password of 256 random bits. The
 * port is kept in a file, and stays the same while this process lives, because pools know it.
 */
export function loopbackAddress(portFile: string): LocalAddress {
  let port: number | undefined;

  function known(): number {
    port ??= readPort(portFile);
    if (port === undefined) throw new Error("The port of PostgreSQL is known once it was started.");
    return port;
  }

  let isClaimed = false;
  return {
    socket_folder: undefined,
    rule: ["host", `${LOOPBACK}/32`],
    prepare: () => undefined,
    async claim() {
      if (isClaimed) return;
      const kept = readPort(portFile);
      port = (kept === undefined ? undefined : await freePort(kept)) ?? (await freePort(0));
      if (port === undefined) throw new Error(`No port of ${LOOPBACK} is free.`);
      if (port !== kept) {
        mkdirSync(dirname(portFile), { recursive: true, mode: 0o700 });
        writePrivateFile(portFile, `${port}\n`);
      }
      isClaimed = true;
    },
    remove: () => undefined,
    settings: () => ({ unix_socket_directories: "", listen_addresses: LOOPBACK, port: String(known()) }),
    dsn: (login) => tcpDsn({ host: LOOPBACK, port: known(), ...login }),
  };
}

function readPort(file: string): number | undefined {
  const port = Number(readIfExists(() => readFileSync(file, "utf8")));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** The port, if a server could listen on it; for 0 any free one. */
async function freePort(port: number): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen({ port, host: LOOPBACK, exclusive: true });
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch {
    // taken, or not ours to take: either way another one is chosen
    return undefined;
  } finally {
    server.close();
  }
}
