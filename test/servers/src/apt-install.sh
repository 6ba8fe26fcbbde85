#!/bin/sh
# Installs a Debian package for the tests, without starting the service it may bring. Run under flock.
#   $1 package   $2 program it provides
# Prints one line of progress to stderr, and what apt-get says to stdout.
set -eu
command -v "$2" && exit 0 # Another worker was first.
echo "test-servers: installing $1 with apt-get, once" >&2
export DEBIAN_FRONTEND=noninteractive
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d} # Tests name another.
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy" # "Action forbidden by policy": no service is started.
  chmod +x "$policy"
fi
install() {
  apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$1" 2>&1
}
# Package lists may be missing (images remove them) or too old.
install "$1" || { apt-get update 2>&1 && install "$1"; }
