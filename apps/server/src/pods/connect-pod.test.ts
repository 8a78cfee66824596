import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PodEndpoint } from "@appdb/pods/driver/pod-driver";
import { Secret } from "@appdb/system/secret";
import { afterEach, beforeEach, expect, test } from "vitest";
import { askTrees } from "./ask-pod.ts";
import { podClient } from "./pod-client.ts";

const token = new Secret("token");
let folder: string;
let asked: (string | undefined)[];
let server: Server;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "connect-"));
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.end('{"trees":[]}');
  }).listen(join(folder, "pod.sock"));
  await once(server, "listening");
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const ask = async () => {
  return await askAt({ kind: "socket", path: join(folder, "pod.sock") });
};

const askAt = async (endpoint: PodEndpoint) => {
  const pod = { uri: "cloud://acme:main", endpoint, token };
  const document = podClient(pod)
    .call("treeList", {}, { signal: AbortSignal.timeout(5_000) })
    .catch((error: { code: string }) => error.code);
  return [await document, await askTrees(pod)];
};

test("connects to a pod's socket and leaks no descriptor", async () => {
  expect(await ask()).toEqual([{ trees: [] }, []]);
  const open = readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      return readlinkSync(join("/proc/self/fd", name));
    } catch {
      // the folder's own descriptor
      return [];
    }
  });
  expect(open.filter((path) => path.startsWith(folder))).toEqual([]);
});

test.each([
  ["a link to another socket", (path: string) => symlinkSync(join(folder, "other.sock"), path)],
  ["a file", (path: string) => writeFileSync(path, "")],
  ["nothing", () => undefined],
])("does not connect to a pod with %s in place of its socket, nor send its token", async (_what, put) => {
  renameSync(join(folder, "pod.sock"), join(folder, "other.sock"));
  put(join(folder, "pod.sock"));
  expect(await ask()).toEqual(["database_not_reached", undefined]);
  expect(asked).toEqual([]);
});

test("a pod of another machine is asked by its host and port", async () => {
  const remote = createServer((_request, response) => response.end('{"trees":[]}')).listen(0, "127.0.0.1");
  await once(remote, "listening");
  const { port } = remote.address() as AddressInfo;
  expect(await askAt({ kind: "tcp", host: "127.0.0.1", port })).toEqual([{ trees: [] }, []]);
  remote.close();
});
