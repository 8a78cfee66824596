import { waitForChild } from "../driver/shell-wait.ts";

/**
 * The steps by which a program comes into its sandbox, each a shell that becomes the next one. They share descriptors:
 * 3 the program's input, 4 what the way to the network says, 5 options of bubblewrap, 6 where it is said that the program
 * runs, 7 the filter of system calls, 8 and 9 pipes by which the network's two ends wait for each other.
 */

/** Where what was gathered is found, in the view of the one who gathered it alone. */
export const GATHERED = "/mnt";

/** Root: becomes the pod's user. Nothing is left by which it could become more. */
const BECOME =
  'exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --';

/** Who runs the pod, and lives as long: waits for the sandbox, and passes the request to end on to the program in it. */
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

/** In the pod's network, as the one who made it: bounds it before anything of the pod runs, and waits for the way out. */
const INSIDE = `set -eu
rules=$1
shift
echo >&8
printf '%s' "$rules" | nft -f -
head -c 1 <&9 >/dev/null
exec bwrap --args 5 --seccomp 7 -- "$@" 8<&- 9<&-`;

/** The way out, which ends with the monitor, and the monitor with it. */
const UPLINK = `box=$1
shift
setpriv --pdeathsig KILL -- slirp4netns --configure --mtu=65520 --disable-host-loopback --enable-sandbox --enable-seccomp \\
  --ready-fd=9 "$@" "$box" tap0
echo "the way to the network ended with code $?"
kill -TERM "$PPID"`;

/** Root, in a view of the machine of its own: gathers what the pod's user could not reach by itself under one folder. */
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

/** First: into its groups, so that everything after it is bounded. */
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

/** Last, in the sandbox: says that it is there. */
const BEGIN = 'echo begun >&6; exec 5<&- 6>&- 7<&-; exec "$@"';

/**
 * The sandbox of the application's code, made in its pod: first into its own group, and first in line when memory runs out. What its
 * environment is to be comes by descriptor 3: a variable that says how programs are loaded would be obeyed here too.
 */
const CODE = `set -eu
place=$1
shift
for group in "$place"/groups/*; do [ ! -e "$group" ] || echo $$ >"$group"; done
echo 900 >/proc/self/oom_score_adj
exec /usr/bin/bwrap --args 8 --args 3 --seccomp 9 -- "$@" 8<"$place/code.options" 9<"$place/code.filter"`;

export interface EntryInput {
  /** Folder of this start, in which lie `groups`, `filter` and what else the steps read. */
  readonly run_folder: string;
  /** Null where there is no other user to become: everything is reached as it is. */
  readonly uid: number | null;
  /** Whether the device by which a network is made is closed to other users here. */
  readonly makes_tunnel: boolean;
  /** Null: none but a loopback. */
  readonly network: { readonly rules: string; readonly uplink_options: readonly string[] } | null;
}

/** How a program is run in a sandbox: what stands before it. */
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
 * What stands before the application's Python in a pod (SERVICE_POD_LAUNCHER). `place` holds `code.options`, `code.filter`
 * and `groups`, in which each file is one to write a process's id into.
 */
export function codeCommand(place: string): string[] {
  return ["/bin/sh", "-c", CODE, "code", place];
}
