import { execFile, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "./eventually.ts";
import { findFreePorts } from "./free-ports.ts";

/** Waits on its standard input. However the tests end, even when killed, the pipe closes and the server ends. */
const GUARD = `
pebble -config "$1/pebble.json" -dnsserver "$2" >"$1/log" 2>&1 </dev/null &
server=$!
read -r _
kill "$server"
wait "$server"
`;
/** The account "kid-1" of the authority: at least 256 bits. */
export const PEBBLE_BINDING = { kid: "kid-1", key: Buffer.alloc(48, "binding").toString("base64url") } as const;

export interface PebbleOptions {
  /** The port where it checks tokens, and the one for TLS-ALPN proofs. */
  readonly http_port: number;
  readonly tls_port: number;
  /** Lifetime of its certificates. */
  readonly life_s?: number;
  /** Only accepts accounts bound to `PEBBLE_BINDING`. */
  readonly needs_binding?: boolean;
}

/** A certificate authority for tests that really validates hosts: every name resolves to 127.0.0.1. */
export interface Pebble extends AsyncDisposable {
  readonly directory: string;
  /** PEM file: the root for the directory's https. */
  readonly ca_file: string;
  /** PEM: the root of the certificates that it issues. */
  readonly root: string;
  /** Whether names resolve; otherwise no validation works. */
  setNamesFound(areFound: boolean): void;
}

/** Why no authority is available. Tests that need one are skipped with this reason. With PEBBLE=required, which
 *  .ci/run sets, they fail. */
export function pebbleProblem(): string | undefined {
  const exists = (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, "pebble")));
  if (exists || process.env.PEBBLE === "required") return undefined;
  const reason = "there is no pebble on the PATH";
  process.stderr.write(`\nSKIPPED: ${reason}, so no certificate was ordered.\n\n`);
  return reason;
}

/** Starts one; it ends with this process at the latest. */
export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  const folder = mkdtempSync(join(tmpdir(), "pebble-"));
  const names = await serveNames();
  const [port, managementPort] = await findFreePorts(2);
  const cert = join(folder, "cert.pem");
  const key = join(folder, "key.pem");
  const subject = ["-subj", "/CN=pebble", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-nodes"];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  await promisify(execFile)("openssl", [...kind, ...subject, "-keyout", key, "-out", cert]);
  const config = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: cert,
    privateKey: key,
    httpPort: options.http_port,
    tlsPort: options.tls_port,
    externalAccountBindingRequired: options.needs_binding === true,
    externalAccountMACKeys: { [PEBBLE_BINDING.kid]: PEBBLE_BINDING.key },
    certificateValidityPeriod: options.life_s ?? 86_400 * 90,
  };
  writeFileSync(join(folder, "pebble.json"), JSON.stringify({ pebble: config }));
  const guard = spawn("/bin/sh", ["-c", GUARD, "pebble", folder, `127.0.0.1:${names.port}`], {
    // It validates hosts without a delay, and each time.
    env: { ...process.env, PEBBLE_VA_NOSLEEP: "1", PEBBLE_AUTHZREUSE: "0" },
    // The shell prints a message for each process that it ends.
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = once(guard, "exit");
  const ca = readFileSync(cert, "utf8");
  const stop = async () => {
    guard.stdin.end();
    await ended;
    names.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const root = await eventually(() => get(`https://127.0.0.1:${managementPort}/roots/0`, ca), {
      timeout_ms: 60_000,
    });
    return {
      directory: `https://127.0.0.1:${port}/dir`,
      ca_file: cert,
      root,
      setNamesFound: names.setFound,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const HEADER_BYTES = 12;
const TYPE_A = 1;

/** A name server (RFC 1035) with one answer: 127.0.0.1, or "no such name". */
async function serveNames() {
  let areFound = true;
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    let end = HEADER_BYTES;
    while ((query[end] ?? 0) !== 0) end += (query[end] ?? 0) + 1;
    const question = query.subarray(HEADER_BYTES, end + 5);
    const isAnswered = areFound && query.readUInt16BE(end + 1) === TYPE_A;
    const header = Buffer.alloc(HEADER_BYTES);
    query.copy(header, 0, 0, 2);
    // An answer with recursion available; 3: no such name.
    header.writeUInt16BE(0x8180 | (areFound ? 0 : 3), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(isAnswered ? 1 : 0, 6);
    // Its name is that of the question, class IN, TTL 0, four bytes.
    const answer = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
    socket.send(Buffer.concat(isAnswered ? [header, question, answer] : [header, question]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    port: socket.address().port,
    setFound: (found: boolean) => {
      areFound = found;
    },
    close: () => socket.close(),
  };
}

async function get(url: string, ca: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const call = request(url, { ca, agent: false }, (answer) => {
      let text = "";
      answer.on("data", (piece) => {
        text += piece;
      });
      answer.on("end", () => (answer.statusCode === 200 ? resolve(text) : reject(new Error(text))));
    });
    call.on("error", reject).end();
  });
}
