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
has_run=
ask() {
  asked=yes
  [ -z "$server" ] || kill -TERM "$server" 2>/dev/null
}
trap ask TERM INT
while :; do
  began=$(date +%s)
  "$@" &
  server=$!
  # asked while it was started
  [ -z "$asked" ] || kill -TERM "$server" 2>/dev/null
  while wait "$server"; status=$?; kill -0 "$server" 2>/dev/null; do :; done
  server=
  if [ -n "$asked" ] || [ "$status" -eq 0 ]; then exit "$status"; fi
  pause=2
  if [ $(($(date +%s) - began)) -ge "$seconds" ]; then
    has_run=yes
    pause=0
  fi
  [ -n "$has_run" ] || exit "$status"
  echo "the server has ended with the status $status; it is started again in $pause s" >&2
  sleep "$pause" &
  wait $!
  [ -z "$asked" ] || exit "$status"
done
