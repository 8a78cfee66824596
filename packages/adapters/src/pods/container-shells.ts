/** Where both versions of control groups count in a container how many of its processes were killed for want of memory. */
const NOTE_MEMORY_KILLS = `for file in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
  [ -r "$file" ] && while read -r name count; do [ "$name" = oom_kill ] && echo "$count" >"$notes/kills"; done <"$file"
done`;

/**
 * The first process of a pod's container, its only argument the folder for notes before the program: passes on the engine's
 * signal, and writes down how the program ended and whether memory ran out, because the engine forgets the one and never knew
 * the other (control groups of version 1). Each note is a file that is mounted by itself. When it ends, everything in the
 * container does.
 */
export const POD_SHELL = `umask 077
notes=$1
log=$2
shift 2
program=
trap '[ -n "$program" ] && kill -TERM $program' TERM
trap : HUP INT
exec 3<&0 </dev/null >>"$log" 2>&1
# when everything around it is as it shall be
read -r go <&3 || exit 70
"$@" <&3 3<&- &
program=$!
exec 3<&-
echo $program >"$notes/inside"
while wait $program; status=$?; kill -0 $program 2>/dev/null; do :; done
${NOTE_MEMORY_KILLS}
echo $status >"$notes/exit"`;

/** The same for a task: it ends with the connection of whoever runs it, and its end is the container's. */
export const TASK_SHELL = `notes=$1
shift
exec 3<&0 </dev/null
read -r go <&3 || exit 70
(read -r line <&3; kill -KILL -1) >/dev/null 2>&1 &
exec 3<&-
"$@"
status=$?
${NOTE_MEMORY_KILLS}
echo $status >"$notes/exit"
exit $status`;
