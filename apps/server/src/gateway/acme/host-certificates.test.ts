import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHostCertificates, type HostCertificates } from "./host-certificates.ts";

const HOST = "d0.apps.test";
let folder: string;
let certificate: { chain: string; key: string };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-hosts-"));
  const [cert, key] = ["cert.pem", "key.pem"].map((name) => join(folder, name)) as [string, string];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  execFileSync("openssl", [...kind, "-subj", "/CN=x", "-keyout", key, "-out", cert], { stdio: "ignore" });
  certificate = { chain: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The certificate in a handshake that names the host, or undefined. */
function shake(hosts: HostCertificates, name: string, protocol = "TLSv1.3"): Promise<unknown> {
  const socket = { getProtocol: () => protocol } as TLSSocket;
  return new Promise((resolve) => hosts.SNICallback.call(socket, name, (_error, context) => resolve(context)));
}

test("a handshake waits a while for its own host's certificate only", async () => {
  const hosts = createHostCertificates({ isExpected: (host) => host === HOST, wait_ms: 10_000 });
  const waiting = shake(hosts, HOST.toUpperCase());
  expect(await shake(hosts, "made-up.apps.test")).toBeUndefined();
  hosts.set(HOST, certificate);
  expect(await waiting).toBeDefined();
  expect(await shake(hosts, HOST)).toBe(await waiting);
  const hasty = createHostCertificates({ isExpected: () => true, wait_ms: 1 });
  expect(await shake(hasty, HOST)).toBeUndefined();
});

test("only the authority gets the validation certificate", async () => {
  const hosts = createHostCertificates({ isExpected: () => true, wait_ms: 1 });
  hosts.set(HOST, certificate);
  const usual = await shake(hosts, HOST);
  hosts.setProof(HOST, certificate);
  expect(await shake(hosts, HOST)).toBe(usual);
  expect(await shake(hosts, HOST, "TLSv1.2")).toBe(usual);
  const told: unknown[] = [];
  const authority = { getProtocol: () => "TLSv1.3", setKeyCert: (one: unknown) => void told.push(one) };
  const asked = { servername: HOST, protocols: ["acme-tls/1"] };
  expect(hosts.ALPNCallback.call(authority as unknown as TLSSocket, asked)).toBe("acme-tls/1");
  expect(told).toHaveLength(1);
  hosts.setProof(HOST, undefined);
  expect(hosts.ALPNCallback.call(authority as unknown as TLSSocket, asked)).toBeUndefined();
});
