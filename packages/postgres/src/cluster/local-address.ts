import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname } from "node:path";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { socketDsn, tcpDsn } from "../client/socket-dsn.ts";
import { openRuntimeFolder } from "./runtime-folder.ts";

const LOOPBACK = "127.0.0.1";

/** Role and database of a connection. */
export interface LocalLogin {
  readonly database: string;
  readonly user: string;
  readonly password: string;
}

/** How programs of this machine reach a home's PostgreSQL. */
export interface LocalAddress {
  /** Folder of the server's socket and its lock; undefined without a socket. */
  readonly socket_folder: string | undefined;
  /** Start and end of a pg_hba.conf line that admits a role. */
  readonly rule: readonly [type: string, address: string];
  /** Prepares the address before each start, possibly while an earlier server still runs. @throws postgres_failed */
  prepare(): void;
  /** Chooses the address of the next server, once no earlier one runs. */
  claim(): Promise<void>;
  /** Removes the result of `prepare`. */
  remove(): void;
  /** Settings that make the server listen only there. */
  settings(): Readonly<Record<string, string>>;
  dsn(login: LocalLogin): string;
}

/**
 * Default address by system: TCP on Windows, where Node has no unix sockets; otherwise a socket in a private folder.
 */
export function localAddress(
  { folder, runtime_folder: runtimeFolder }: { readonly folder: string; readonly runtime_folder: string },
  platform: NodeJS.Platform = process.platform,
): LocalAddress {
  return platform === "win32" ? loopbackAddress(`${folder}/port`) : socketAddress(runtimeFolder);
}

/** A unix socket in a private folder. */
export function socketAddress(folder: string): LocalAddress {
  return {
    socket_folder: folder,
    rule: ["local", ""],
    // cleaners of temporary folders may have removed it
    prepare: () => openRuntimeFolder(folder),
    claim: async () => undefined,
    remove: () => rmSync(folder, { recursive: true, force: true }),
    settings: () => ({ unix_socket_directories: folder, listen_addresses: "" }),
    dsn: (login) => socketDsn({ folder, ...login }),
  };
}

/**
 * A loopback port. Other users of the machine can reach it too, so each connection sends a password of 256 random bits.
 * The port is stored in a file and stays the same while this process lives, because pools use it.
 */
export function loopbackAddress(portFile: string): LocalAddress {
  let port: number | undefined;

  function known(): number {
    port ??= readPort(portFile);
    if (port === undefined) throw new Error("The port of PostgreSQL is unknown before its start.");
    return port;
  }

  let isClaimed = false;
  return {
    socket_folder: undefined,
    rule: ["host", `${LOOPBACK}/32`],
    prepare: () => undefined,
    async claim() {
      if (isClaimed) return;
      const storedPort = readPort(portFile);
      port = (storedPort === undefined ? undefined : await freePort(storedPort)) ?? (await freePort(0));
      if (port === undefined) throw new Error(`No port of ${LOOPBACK} is free.`);
      if (port !== storedPort) {
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

/** The port if a server can listen on it; any free one for 0. */
async function freePort(port: number): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen({ port, host: LOOPBACK, exclusive: true });
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch {
    // in use or not permitted: another one is chosen
    return undefined;
  } finally {
    server.close();
  }
}
