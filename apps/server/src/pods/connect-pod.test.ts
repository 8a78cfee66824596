import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  const pod = { uri: "cloud://acme:main", socket: join(folder, "pod.sock"), token };
  const document = podClient(pod)
    .call("treeList", {}, { signal: AbortSignal.timeout(5_000) })
    .catch((error: { code: string }) => error.code);
  return [await document, await askTrees(pod.socket, token)];
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
