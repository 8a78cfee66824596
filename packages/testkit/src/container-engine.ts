import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { eventually } from "./eventually.ts";

const PROGRAMS = ["podman", "runc", "conmon", "iptables", "nft", "nsenter", "flock"];

/** Nothing of the machine's own engine is used but its programs; what others have is left alone. */
const SETTINGS = (folder: string) => `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "runc"
[network]
network_config_dir = "${folder}/networks"
`;

/**
 * The engine is the child of this script, which waits on its standard input: whichever way the tests end, killed ones included,
 * the pipe closes, and everything that the engine has made goes.
 */
const GUARD = `
folder=$1
export CONTAINERS_CONF="$folder/containers.conf"
# it leaves archives that it was sent in the one, and notes of want of memory in the other
export TMPDIR="$folder/tmp"
mkdir "$TMPDIR"
cd "$TMPDIR"
options="--root $folder/root --runroot $folder/r --tmpdir $folder/tmp --storage-driver vfs"
# all engines of tests share the network of their containers; only the last one takes it along
exec 9<"$(command -v podman)"
flock --shared 9
had_bridge=$(cat /sys/class/net/cni-podman0/address 2>/dev/null)
podman $options system service --time 0 "unix://$folder/podman.sock" </dev/null >"$folder/log" 2>&1 9<&- &
server=$!
read -r _
groups=$(podman $options ps --all --quiet | xargs -r podman $options inspect --format '{{.HostConfig.CgroupParent}}' | sort -u)
podman $options rm --all --force --time 0 >/dev/null 2>&1
kill "$server"
wait "$server"
if [ -z "$had_bridge" ] && flock --exclusive --nonblock 9; then ip link delete cni-podman0 2>/dev/null; fi
cd /
for group in $groups; do find /sys/fs/cgroup -depth -type d -path "*$group*" -exec rmdir {} + 2>/dev/null; done
# where every engine and driver has its groups: stays while there is one
for group in libpod_parent/conmon libpod_parent appdb-pods; do rmdir /sys/fs/cgroup/$group /sys/fs/cgroup/*/$group 2>/dev/null; done
rm -rf "$folder"
`;

export interface TestEngine extends AsyncDisposable {
  /** Of its Engine API. */
  readonly socket: string;
}

/**
 * Why no engine can be started here: tests that need one are skipped then and say so; with CONTAINERS=required, which .ci/run sets
 * once it has installed one, they fail instead. Undefined where one can.
 */
export function whyNoEngine(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const missing = PROGRAMS.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
  const why = [
    ...(process.getuid?.() === 0 ? [] : ["this is not root"]),
    ...(missing.length === 0 ? [] : [`there is no ${missing.join(", no ")} on the PATH`]),
  ].join(" and ");
  if (process.env.CONTAINERS === "required" || why === "") return undefined;
  process.stderr.write(`\nSKIPPED: ${why}, so no pod was run in a container.\n\n`);
  return why;
}

/** Starts a Podman of the test's own: it takes no run folder of more than 50 characters, so names are short. It ends with this process at the latest, and takes all of its containers along. */
export async function startTestEngine(): Promise<TestEngine> {
  const folder = mkdtempSync(join(tmpdir(), "e-"));
  const socket = join(folder, "podman.sock");
  writeFileSync(join(folder, "containers.conf"), SETTINGS(folder));
  const guard = spawn("/bin/sh", ["-c", GUARD, "engine", folder], {
    // a signal for all of the tests is not for it: it ends after them
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(guard, "exit");
  await eventually(() => ping(socket), { timeout_ms: 20_000 });
  return {
    socket,
    async [Symbol.asyncDispose]() {
      guard.stdin.end();
      await ended;
    },
  };
}

async function ping(socketPath: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const asked = request({ socketPath, path: "/_ping" }, (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`The engine answered ${response.statusCode}.`));
    });
    asked.once("error", reject);
    asked.end();
  });
}
