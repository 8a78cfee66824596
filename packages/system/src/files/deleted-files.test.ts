import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deletedBytes } from "./deleted-files.ts";

const PYTHON = join(import.meta.dirname, "../../../../.tools/bin/python");
const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;
const MB = 1 << 20;

/** Makes `file`, a deleted file of 4 MB, then does what the test gives, says so and waits. */
const START = `
import ctypes, mmap, os, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None)
# before it becomes another user, who may not reach the temporary folder
file = os.open(sys.argv[1] + "/file", os.O_CREAT | os.O_RDWR)
os.unlink(sys.argv[1] + "/file")
os.write(file, bytes(4 << 20))
place = os.open(sys.argv[1], os.O_RDONLY)
if os.getuid() == 0:
    os.setresuid(65534, 65534, 65534)
    libc.prctl(4, 1)
`;
const WAIT = `
print("ready", flush=True)
time.sleep(60)
`;

let folder: string;
let code: ChildProcess;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-deleted-"));
  chmodSync(folder, 0o777);
});
afterEach(() => {
  // with its children
  if (code.exitCode === null) process.kill(-(code.pid ?? 0), "SIGKILL");
  rmSync(folder, { recursive: true });
});

async function run(source: string): Promise<number> {
  code = spawn(PYTHON, ["-c", START + source + WAIT, folder], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  if (code.stdout === null) throw new Error("No output.");
  await once(code.stdout, "data");
  return code.pid ?? 0;
}

/** As a pod, which is not root, and whose code has its user. */
function asOwner(roots: readonly number[]): number {
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return deletedBytes([folder], roots);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

const hidden = Number.POSITIVE_INFINITY;

test.runIf(process.platform === "linux").each([
  ["an open file", "", 4 * MB],
  ["a file of another process", "subprocess.Popen(['sleep', '60'], pass_fds=[file]); os.close(file)", 4 * MB],
  ["a mapped file with a descriptor", "kept = mmap.mmap(file, 4096); os.close(file)", 4 * MB],
  [
    "a file whose path is too long to read",
    `
os.close(file)
os.chdir(place)
for at in range(19):
    os.mkdir("d" * 210)
    os.chdir("d" * 210)
deep = os.open("f" * 200, os.O_CREAT | os.O_RDWR)
os.unlink("f" * 200)
os.write(deep, bytes(4 << 20))
`,
    4 * MB,
  ],
  ["no file", "os.close(file)", 0],
  ["sockets without descriptors", "pair = socket.socketpair(); pair[0].send(b'x'); os.close(file)", 0],
  [
    "a file in the descriptors of one thread",
    `
unshared, closed = threading.Event(), threading.Event()
def hold():
    libc.unshare(0x400)
    unshared.set()
    time.sleep(60)
threading.Thread(target=hold, daemon=True).start()
unshared.wait()
os.close(file)`,
    4 * MB,
  ],
  [
    "a descriptor on its way",
    "pair = socket.socketpair(); socket.send_fds(pair[0], [b'x'], [file]); os.close(file)",
    hidden,
  ],
  ["a process that hides its descriptors", "libc.prctl(4, 0)", hidden],
  [
    "a mapped file without a descriptor",
    `
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
assert libc.mmap(None, 4096, 1, 1, file, 0) != 2**64 - 1
os.close(file)`,
    hidden,
  ],
])("code with %s holds what is counted, or is hidden", async (_name, source, bytes) => {
  const pid = await run(source);
  expect(asOwner([pid])).toBe(bytes);
});

test.runIf(process.platform === "linux")("processes that are not code hide nothing", async () => {
  await run("libc.prctl(4, 0)");
  expect(asOwner([])).toBe(0);
});
