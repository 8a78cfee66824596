import { waitForChild } from "../driver/shell-wait.ts";

/**
 * The steps that start a program in its sandbox. Each is a shell that replaces itself by the next step. They share
 * descriptors: 3 is the program's input, 4 the uplink's output, 5 the bubblewrap options, 6 the report that the program
 * runs, 7 the system-call filter. 8 and 9 are pipes that synchronize the two ends of the network.
 */

/** Mount point of the collected folders, visible only in the private mount namespace. */
export const GATHERED = "/mnt";

/** Root: becomes the pod's user and drops every way to gain privileges. */
const BECOME =
  'exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --';

/** Supervises the pod and lives as long: waits for the sandbox and forwards the termination signal to its program. */
const MONITOR = `network=$1 inside=$2 uplink=$3 rules=$4 options=$5
shift 5
exec 3<&0 </dev/null
child() {
  for first in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do echo "$first"; break; done
}
end() {
  program=$(child "$(child "$box")")
  if [ -n "$program" ]; then kill -TERM "$program" 2>/dev/null; else kill -KILL "$box" 2>/dev/null; fi
}
if [ "$network" = none ]; then
  bwrap --args 5 --seccomp 7 -- "$@" <&3 3<&- 4<&- 8<&- 9<&- &
  box=$!
else
  unshare --user --map-root-user --net -- /bin/sh -c "$inside" inside "$rules" "$@" <&3 3<&- 4<&- &
  box=$!
  read -r line <&8
  setpriv --pdeathsig KILL -- /bin/sh -c "$uplink" uplink "$box" $options >&4 2>&4 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- &
fi
trap end TERM INT HUP
exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
${waitForChild("box")}
exit "$status"`;

/** In the pod's network, as its owner: installs the rules before the pod runs, and waits for the uplink. */
const INSIDE = `set -eu
rules=$1
shift
echo >&8
printf '%s' "$rules" | nft -f -
head -c 1 <&9 >/dev/null
exec bwrap --args 5 --seccomp 7 -- "$@" 8<&- 9<&-`;

/** The uplink. It ends with the monitor, and the monitor with it. */
const UPLINK = `box=$1
shift
setpriv --pdeathsig KILL -- slirp4netns --configure --mtu=65520 --disable-host-loopback --enable-sandbox --enable-seccomp \\
  --ready-fd=9 "$@" "$box" tap0
echo "the way to the network ended with code $?"
kill -TERM "$PPID"`;

/** Root, in a private mount namespace: binds folders that the pod's user cannot reach below one folder. */
const GATHER = `set -eu
uid=$1 run=$2 monitor=$3 tunnel=$4
shift 4
mount -t tmpfs -o mode=0755,size=1m gather "$run/gather"
(cd "$run/gather" && while read -r kind name; do if [ "$kind" = file ]; then : >"$name"; else mkdir "$name"; fi; done) <"$run/names"
mount --all --fstab "$run/places"
gathered=$(cd "$run/gather" && while read -r kind name; do echo "$name"; done <"$run/names" | xargs stat -c %d:%i --)
if [ "$gathered" != "$(cat "$run/identities")" ]; then
  echo "a folder of the pod was exchanged while it was given to it"
  exit 71
fi
if [ "$tunnel" = make ]; then
  mknod -m 0666 "$run/gather/tun" c 10 200
  mount --bind "$run/gather/tun" /dev/net/tun
fi
mount --move "$run/gather" ${GATHERED}
${BECOME} /bin/sh -c "$monitor" monitor "$@"`;

/** First step: joins its groups, so that every later step is limited. */
const ENTER = `set -eu
uid=$1 run=$2 gather=$3 monitor=$4 tunnel=$5
shift 5
while read -r group; do echo $$ >"$group"; done <"$run/groups"
ulimit -c 0
[ ! -e "$run/size" ] || ulimit -f "$(cat "$run/size")"
[ ! -e "$run/options" ] || exec 5<"$run/options"
exec 4>"$run/uplink.log" 6>"$run/begun" 7<"$run/filter"
mkfifo -m 0600 "$run/one" "$run/other"
exec 8<>"$run/one" 9<>"$run/other"
if [ "$gather" = none ]; then exec /bin/sh -c "$monitor" monitor "$@"; fi
exec unshare --mount --propagation private -- /bin/sh -c "$gather" gather "$uid" "$run" "$monitor" "$tunnel" "$@"`;

/** Last step, in the sandbox: reports that the program runs. */
const BEGIN = 'echo begun >&6; exec 5<&- 6>&- 7<&-; exec "$@"';

/**
 * Sandbox of the application's code inside its pod. It first joins its own group and becomes the first choice of the
 * out-of-memory killer. Its environment comes by descriptor 3, because variables that control program loading would
 * affect these steps too.
 */
const CODE = `set -eu
place=$1
shift
for group in "$place"/groups/*; do [ ! -e "$group" ] || echo $$ >"$group"; done
echo 900 >/proc/self/oom_score_adj
exec /usr/bin/bwrap --args 8 --args 3 --seccomp 9 -- "$@" 8<"$place/code.options" 9<"$place/code.filter"`;

export interface EntryInput {
  /** Folder of this start with `groups`, `filter` and other files of the steps. */
  readonly run_folder: string;
  /** Null when there is no other user; all paths are then directly reachable. */
  readonly uid: number | null;
  /** Whether other users may not open the tunnel device here. */
  readonly makes_tunnel: boolean;
  /** Null for a loopback only. */
  readonly network: { readonly rules: string; readonly uplink_options: readonly string[] } | null;
}

/** Command prefix that runs a program in a sandbox. */
export function entryCommand({ makes_tunnel: makesTunnel, network, run_folder: runFolder, uid }: EntryInput): string[] {
  const user = uid === null ? ["none", runFolder, "none"] : [String(uid), runFolder, GATHER];
  const way = network === null ? ["none", "", "", "", ""] : ["internet", INSIDE, UPLINK, network.rules];
  const options = network === null ? [] : [network.uplink_options.join(" ")];
  const begin = ["/bin/sh", "-c", BEGIN, "begin"];
  return [
    "/bin/sh",
    "-c",
    ENTER,
    "enter",
    ...user,
    MONITOR,
    makesTunnel ? "make" : "take",
    ...way,
    ...options,
    ...begin,
  ];
}

/**
 * Command prefix of the application's Python in a pod (SERVICE_POD_LAUNCHER). `codePath` contains `code.options`,
 * `code.filter` and `groups`; each file in `groups` accepts a process id.
 */
export function codeCommand(codePath: string): string[] {
  return ["/bin/sh", "-c", CODE, "code", codePath];
}
