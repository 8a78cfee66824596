#!/bin/sh
# Main process of appdb.service: runs the server, and starts it again beside gateway and pods when it has crashed. systemd
# ends whatever is in a unit whose main process has ended, and before version 254 it starts none in a unit that has groups of
# its own left (User=).
#   keep-server.sh SECONDS PROGRAM [ARGUMENT...]
# A server that fails before any has run for SECONDS, as by a wrong setting, is systemd's to start again, with all anew.
seconds=$1
shift
server=
asked=
told=
has_run=
tell_after=1
ask() {
  asked=yes
  [ -z "$server" ] || tell
}
# once: a second request ends the server at once
tell() {
  if [ -z "$told" ]; then
    told=yes
    kill -TERM "$server" 2>/dev/null
  fi
}
trap ask TERM INT
while :; do
  began=$(date +%s)
  told=
  "$@" &
  server=$!
  if [ -n "$asked" ]; then
    sleep "$tell_after"
    tell_after=$((tell_after * 2))
    tell
  fi
  while wait "$server"; status=$?; kill -0 "$server" 2>/dev/null; do :; done
  server=
  [ "$status" -ne 0 ] || exit 0
  if [ -n "$asked" ]; then
    # the request ended a server that did not hear yet and was to take over what a former one left: the next one ends that
    if [ -z "$has_run" ] || [ "$status" -ne 143 ] || [ "$tell_after" -gt 32 ]; then exit "$status"; fi
    continue
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
