import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localAddress, loopbackAddress, socketAddress } from "./local-address.ts";

const LOGIN = { database: "my db", user: "me", password: "a&b" };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-address-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["linux", "local"],
  ["darwin", "local"],
  ["win32", "host"],
] as const)("a server of %s accepts connections by %s", (platform, type) => {
  expect(localAddress({ folder, runtime_folder: join(folder, "run") }, platform).rule[0]).toBe(type);
});

test("a socket uses no port", () => {
  const address = socketAddress("/run/x");
  expect(address.settings()).toEqual({ unix_socket_directories: "/run/x", listen_addresses: "" });
  expect(address.dsn(LOGIN)).toBe("postgresql:///my%20db?host=%2Frun%2Fx&user=me&password=a%26b");
});

test("chooses a port once, stores it in a file and uses no socket", async () => {
  const file = join(folder, "postgres", "port");
  const address = loopbackAddress(file);
  expect(() => address.settings()).toThrow("unknown before its start");
  await address.claim();
  const port = readFileSync(file, "utf8").trim();
  await address.claim();
  expect(address.settings()).toEqual({ unix_socket_directories: "", listen_addresses: "127.0.0.1", port });
  expect(address.dsn(LOGIN)).toBe(`postgresql:///my%20db?host=127.0.0.1&port=${port}&user=me&password=a%26b`);
  expect(loopbackAddress(file).settings()).toMatchObject({ port });
});

test("ignores an incomplete port file", async () => {
  const file = join(folder, "port");
  writeFileSync(file, "70000000\n");
  const address = loopbackAddress(file);
  await address.claim();
  expect(Number(readFileSync(file, "utf8"))).toBeLessThan(65_536);
});
