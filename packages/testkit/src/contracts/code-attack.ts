import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LocalDriver, LocalDriverInput } from "@appdb/pods/driver/local-driver";
import type { PodDriver, PodSpec } from "@appdb/pods/driver/pod-driver";
import { Secret } from "@appdb/system/secret";
import { expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { createSilentLog } from "../silent-log.ts";
import { createTestLayout, volumeOf } from "./test-layout.ts";

const TOKEN = "token-of-this-pod-alone";

/** Replaces the pod program: keeps the token like a pod, listens on its socket, and runs the application's code. */
const PROGRAM = `import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
const told = JSON.parse(readFileSync(0, "utf8"));
writeFileSync(told.data_folder + "/kept", told.token);
writeFileSync(told.media_folder + "/home/object", "stored");
mkdirSync(told.media_folder + "/uploads");
writeFileSync(told.media_folder + "/uploads/secret", told.token);
const server = createServer((socket) => socket.end(told.token));
statSync(told.database_folder + "/.s.PGSQL.5432");
server.listen(told.run_folder + "/pod.sock", () => {
  const [program, ...launcher] = JSON.parse(process.env.SERVICE_POD_LAUNCHER);
  const args = ["-c", 'exec 3<"$0"; exec "$@"', told.log_folder + "/env", program, ...launcher, "/usr/bin/python3", told.code_folder + "/attack.py", told.run_folder, told.data_folder, told.log_folder, told.database_folder, told.media_folder];
  const env = { PATH: "/usr/bin:/bin", GIVEN: "yes", LD_PRELOAD: "/of-the-code.so" };
  const options = ["--clearenv", ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value])];
  writeFileSync(told.log_folder + "/env", options.map((option) => option + "\\0").join(""));
  const { status, stdout, stderr } = spawnSync("/bin/sh", args, { env: { PATH: "/usr/bin:/bin" }, encoding: "utf8" });
  writeFileSync(told.log_folder + "/attack.json", JSON.stringify({ status, stdout, stderr }));
});
setTimeout(() => {}, 60000);`;

const ATTACK = `import ctypes, glob, json, os, resource, signal, socket, sys
found = {}
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, work):
    try: found[name] = repr(work())
    except BaseException as error: found[name] = type(error).__name__
def call(number, *args):
    if libc.syscall(number, *args) == -1: raise OSError(ctypes.get_errno(), "")
    return "done"
run, data, log, database, media = sys.argv[1:]
# in a group of its own this reaches the code alone
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(0, signal.SIGTERM)
for name, path in dict(run=run, data=data, log=log, database=database, place="/.pod", root="/root", home="/home", shadow="/etc/shadow", sys="/sys").items():
    attempt(name, lambda: os.stat(path))
attempt("socket", lambda: socket.socket(socket.AF_UNIX).connect(run + "/pod.sock"))
attempt("postgres", lambda: socket.socket(socket.AF_UNIX).connect(database + "/.s.PGSQL.5432"))
attempt("write_code", lambda: open(os.path.dirname(__file__) + "/new", "w"))
attempt("write_root", lambda: open("/new", "w"))
attempt("write_usr", lambda: open("/usr/new", "w"))
attempt("media", lambda: sorted(os.listdir(media)))
attempt("media_object", lambda: open(media + "/home/object").read())
attempt("media_uploads", lambda: os.stat(media + "/scratch/../uploads/secret"))
attempt("media_write", lambda: open(media + "/home/object", "a"))
attempt("media_truncate", lambda: os.truncate(media + "/home/object", 0))
attempt("media_replace", lambda: os.rename(media + "/scratch", media + "/other"))
try: open(media + "/new", "w")
except OSError: pass
attempt("media_link", lambda: os.link(media + "/home/object", media + "/scratch/linked"))
attempt("media_move", lambda: os.rename(media + "/home/object", media + "/scratch/moved"))
attempt("media_made", lambda: open(media + "/scratch/made", "w").write("made"))
os.symlink(media + "/uploads/secret", media + "/scratch/leading")
attempt("media_leading", lambda: open(media + "/scratch/leading").read())
attempt("device", lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(254, 0)))
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("packet", lambda: socket.socket(17, socket.SOCK_RAW))
attempt("internet", lambda: socket.create_connection(("93.184.216.34", 80), 2))
attempt("metadata", lambda: socket.create_connection(("169.254.169.254", 80), 2))
for name, number, args in [("unshare", 272, (0x10000000,)), ("clone", 56, (0x10000011, 0, 0, 0, 0)), ("mount", 165, (0, 0, 0, 0, 0)),
    ("ptrace", 101, (16, 1, 0, 0)), ("keyctl", 250, (0, -3, 0)), ("bpf", 321, (0, 0, 0)), ("userfaultfd", 323, (0,)),
    ("setns", 308, (0, 0)), ("open_by_handle", 304, (0, 0, 0)), ("read_memory", 310, (1, 0, 0, 0, 0, 0)), ("personality", 135, (0x40000,))]:
    attempt(name, lambda: call(number, *args))
seen = ""
for path in glob.glob("/proc/[0-9]*/*"):
    if os.path.basename(path) in ("environ", "cmdline", "mountinfo", "maps", "fd"):
        try: seen += " ".join(os.readlink(path + "/" + fd) for fd in os.listdir(path)) if path.endswith("fd") else open(path, errors="replace").read()
        except OSError: pass
found["processes"] = sorted(int(pid) for pid in os.listdir("/proc") if pid.isdigit())
found["sees_token"] = ${JSON.stringify(TOKEN)} in seen
found["sees_socket"] = "pod.sock" in seen
found["given"] = os.environ.get("GIVEN")
found["uid"] = os.getuid()
# without high ones, which the test runner may have left open
found["open"] = sorted(int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) < 100)
children = []
try:
    while len(children) < 400: 
        pid = os.fork()
        if pid == 0: 
            import time; time.sleep(30); os._exit(0)
        children.append(pid)
except OSError: pass
for pid in children: os.kill(pid, 9)
found["children"] = len(children)
try:
    with open("/tmp/fill", "wb") as file:
        for _ in range(2000): file.write(b"x" * 1048576)
    found["filled"] = "2 GB"
except OSError as error: found["filled"] = error.errno
os.unlink("/tmp/fill")
print(json.dumps(found))
`;

/** A driver that isolates the application's code from its own pod. */
export interface AttackedDriver {
  readonly name: PodDriver["name"];
  create(input: LocalDriverInput): Promise<LocalDriver>;
  /** Maximum processes of the code, of the 200 of its pod. */
  readonly max_children: number;
}

/** Registers the isolation tests for every driver that serves several organizations. */
export function testCodeAttack({ create, max_children: mostChildren, name }: AttackedDriver): void {
  test(`with the driver ${name} the application's code reads nothing of its own pod's programs, of the machine or of others, and stays within its bounds`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "attack-"));
    const layout = createTestLayout(folder);
    const owner = { id: "db-attack", database_id: "attack" };
    const volumes = [
      volumeOf(layout, { kind: "data", database_id: "attack" }, "write"),
      volumeOf(layout, { kind: "logs", database_id: "attack", service_id: null }, "write"),
      volumeOf(layout, { kind: "sockets", pod: owner }, "write"),
      volumeOf(layout, { kind: "project-trees", database_id: "attack" }, "code"),
      // that of a service's database: its pod reads it
      { ...volumeOf(layout, { kind: "sockets", pod: { ...owner, id: "database" } }, "read"), name: "postgres" },
      {
        ...volumeOf(layout, { kind: "media", database_id: "attack" }, "write"),
        code_parts: [
          { name: "home", access: "read" },
          { name: "scratch", access: "write" },
        ] as const,
      },
    ];
    const [dataFolder = "", logFolder = "", runFolder = "", codeFolder = "", databaseFolder = "", mediaFolder = ""] =
      volumes.map(({ target }) => target);
    const programFolder = join(folder, "program");
    for (const path of [programFolder, codeFolder, databaseFolder]) mkdirSync(path, { recursive: true });
    const postgres = createServer().listen(join(databaseFolder, ".s.PGSQL.5432"));
    writeFileSync(join(programFolder, "pod.mjs"), PROGRAM);
    writeFileSync(join(codeFolder, "attack.py"), ATTACK);
    const pods = await create({
      folder: join(folder, "pods"),
      layout,
      program: { file: join(programFolder, "pod.mjs"), node_options: [] },
      log: createSilentLog(),
      clock: { now: Date.now },
    });
    const spec: PodSpec = {
      id: "db-attack",
      labels: { organization_id: "org-1", database_id: "attack", kind: "database" },
      args: ["pod.js"],
      input: new Secret(
        JSON.stringify({
          token: TOKEN,
          run_folder: runFolder,
          log_folder: logFolder,
          data_folder: dataFolder,
          code_folder: codeFolder,
          database_folder: databaseFolder,
          media_folder: mediaFolder,
        }),
      ),
      image: null,
      volumes,
      ports: ["api"],
      limits: { cpu: 1, memory_mb: 400, tasks: 200 },
      network: "none",
    };
    try {
      await pods.ensure(spec, AbortSignal.timeout(30_000));
      const text = await eventually(() => readFileSync(join(logFolder, "attack.json"), "utf8"), {
        timeout_ms: 40_000,
      });
      const { status, stderr, stdout } = JSON.parse(text);
      // The loader prints a warning in each program that gets the variable: only Python.
      expect([status, stderr.match(/from LD_PRELOAD/g)]).toEqual([0, ["from LD_PRELOAD"]]);
      const { children, processes, ...found } = JSON.parse(stdout);
      expect(found).toEqual({
        run: "FileNotFoundError",
        data: "FileNotFoundError",
        log: "FileNotFoundError",
        place: "FileNotFoundError",
        database: "FileNotFoundError",
        postgres: "FileNotFoundError",
        root: "FileNotFoundError",
        home: "FileNotFoundError",
        shadow: "FileNotFoundError",
        sys: "FileNotFoundError",
        socket: "FileNotFoundError",
        write_code: "OSError",
        write_root: "OSError",
        write_usr: "OSError",
        media: "['home', 'scratch']",
        media_object: "'stored'",
        media_uploads: "FileNotFoundError",
        media_write: "OSError",
        media_truncate: "OSError",
        media_replace: "OSError",
        media_link: "OSError",
        media_move: "OSError",
        media_made: "4",
        media_leading: "FileNotFoundError",
        device: "PermissionError",
        vsock: "OSError",
        packet: "OSError",
        internet: "OSError",
        metadata: "OSError",
        unshare: "PermissionError",
        clone: "PermissionError",
        mount: "PermissionError",
        ptrace: "PermissionError",
        keyctl: "PermissionError",
        bpf: "PermissionError",
        userfaultfd: "PermissionError",
        setns: "PermissionError",
        open_by_handle: "PermissionError",
        read_memory: "PermissionError",
        personality: "PermissionError",
        // 28: no space left.
        sees_token: false,
        sees_socket: false,
        given: "yes",
        uid: 1001,
        filled: 28,
        open: [0, 1, 2, 3],
      });
      // The code made it in a folder of its sandbox, which has the same path.
      expect(readdirSync(mediaFolder)).not.toContain("new");
      // The sandbox's own first process, and the code.
      expect(processes).toEqual([1, 2]);
      expect(children).toBeGreaterThan(50);
      expect(children).toBeLessThan(mostChildren);
      expect(await pods.inspect("db-attack")).toMatchObject({ state: "running" });
    } finally {
      await pods.stop("db-attack", 100);
      await pods[Symbol.asyncDispose]();
      postgres.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
