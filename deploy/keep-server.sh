#!/bin/sh
# Main process of appdb.service: runs the server, and starts it again beside gateway and pods when it has crashed. systemd
# ends whatever is in a unit whose main process has ended, and before version 254 it starts none in a unit that has groups of
# its own left (User=).
#   keep-server.sh SECONDS PROGRAM [ARGUMENT...]
# A server that fails before any has run for SECONDS, as by a wrong setting, is systemd's to start again, with all anew.
# A server that hangs is killed and started again as one that crashed: it writes a growing number each second, and a number that
# stays for KEEPER_SILENT_SECONDS (6) says that its event loop stands.
seconds=$1
shift
server=
asked=
told=
has_run=
tell_after=1
hung=9
silent=${KEEPER_SILENT_SECONDS:-6}
sockets=${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}
beats=
trap '[ -z "$beats" ] || rm -rf "$beats"' EXIT
# a keeper that was killed left its folder
for left in "$sockets"/appdb-keeper.*.*; do
  keeper=${left##*/appdb-keeper.}
  keeper=${keeper%%.*}
  [ -O "$left" ] && [ ! -L "$left" ] || continue
  if [ "$keeper" = "$$" ] || ! kill -0 "$keeper" 2>/dev/null; then rm -rf "$left"; fi
done
# Whoever cleans up temporary files may have taken the folder, and another user its name: what is not ours is left as it is.
prepare_beats() {
  if [ -n "$beats" ] && [ ! -L "$beats" ] && [ -d "$beats" ] && [ -O "$beats" ]; then
    rm -f "$beats/beat"
  elif beats=$(mktemp -d "$sockets/appdb-keeper.$$.XXXXXX"); then
    export KEEPER_HEARTBEAT_FILE="$beats/beat"
  else
    beats=
    unset KEEPER_HEARTBEAT_FILE
    echo "a server that hangs is not replaced: there is no room for its heartbeat" >&2
  fi
}
ask() {
  asked=yes
  interrupted=yes
  [ -z "$server" ] || tell
}
# once: the server says of each further one that it has no effect
tell() {
  if [ -z "$told" ]; then
    told=yes
    kill -TERM "$server" 2>/dev/null
  fi
}
# It counts its own looks, a second apart at least: a machine that slept, or that gave both no processor, kills nothing.
watch() {
  # a closed terminal tells every process of it, and a stop is watched too
  trap "" HUP
  last=
  looks=0
  while sleep 1; kill -0 "$1" 2>/dev/null; do
    beat=
    [ ! -r "$KEEPER_HEARTBEAT_FILE" ] || read -r beat <"$KEEPER_HEARTBEAT_FILE"
    if [ -z "$beat" ] || [ "$beat" != "$last" ]; then
      last=$beat
      looks=0
      continue
    fi
    looks=$((looks + 1))
    if [ "$looks" -ge "$silent" ]; then
      trap "" TERM
      echo "the server (process $1) has hung for $looks s: it is killed" >&2
      kill -KILL "$1"
      exit "$hung"
    fi
  done
}
trap ask TERM INT HUP
while :; do
  began=$(date +%s)
  told=
  prepare_beats
  "$@" &
  server=$!
  if [ -n "$beats" ]; then
    watch "$server" &
    watcher=$!
  fi
  if [ -n "$asked" ]; then
    sleep "$tell_after"
    tell_after=$((tell_after * 2))
    tell
  fi
  # A request interrupts the wait, whose status is then that of the signal: the server's own is asked for again.
  status=
  while :; do
    interrupted=
    wait "$server"
    now=$?
    if [ "$now" -ne 127 ] || [ -z "$status" ]; then status=$now; fi
    [ -n "$interrupted" ] || break
  done
  server=
  told_by=
  if [ -n "$beats" ]; then
    kill "$watcher" 2>/dev/null
    wait "$watcher"
    told_by=$?
  fi
  [ "$status" -ne 0 ] || exit 0
  if [ -n "$asked" ]; then
    # one that hung is replaced by one that ends what it left
    [ "$told_by" != "$hung" ] || continue
    # the request ended a server that did not hear yet and was to take over what a former one left: the next one ends that
    if [ -z "$has_run" ] || [ "$tell_after" -gt 32 ]; then exit "$status"; fi
    # TERM, or HUP and INT of the terminal, which reach the server too
    case $status in 143 | 129 | 130) continue ;; *) exit "$status" ;; esac
  fi
  pause=2
  if [ $(($(date +%s) - began)) -ge "$seconds" ]; then
    has_run=yes
    pause=0
  fi
  [ -n "$has_run" ] || exit "$status"
  echo "the server has ended with the status $status; it is started again in $pause s" >&2
  sleep "$pause" &
  wait $!
done
