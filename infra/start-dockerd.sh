#!/bin/sh
# Make a docker daemon answer on this machine; do nothing if one does.
#
# For machines without one, as a CI runner or a fresh VM: Debian or Ubuntu, as root. Our containers have no
# network, so the daemon is started without bridge and firewall rules, which many kernels would refuse.
# Prints what it did. FLYWHEEL_DOCKERD_PID names a file for the pid of a daemon that it started.
set -eu

log=${FLYWHEEL_DOCKERD_LOG:-/tmp/flywheel-dockerd.log}
pid_file=${FLYWHEEL_DOCKERD_PID:-/run/flywheel-dockerd.pid}
socket=/var/run/docker.sock

answers() {
    docker version >/dev/null 2>&1
}

fail() {
    echo "start-dockerd: $1" >&2
    exit 1
}

if command -v docker >/dev/null 2>&1 && answers; then
    echo "docker: a daemon answers already"
    exit 0
fi
[ "$(id -u)" = 0 ] || fail "no daemon answers, and only root can start one; start docker, or run this as root"

if ! command -v dockerd >/dev/null 2>&1; then
    command -v apt-get >/dev/null 2>&1 || fail "dockerd is not installed and there is no apt-get; install docker"
    apt-get update -qq >"$log" 2>&1 || fail "apt-get update failed; see $log"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io >>"$log" 2>&1 ||
        fail "apt-get install docker.io failed; see $log"
fi

# A daemon that was killed leaves these, and the next one would refuse to start or wait for them.
for stale in /var/run/docker.pid /var/run/docker/containerd/containerd.pid; do
    if [ -f "$stale" ] && ! kill -0 "$(cat "$stale")" 2>/dev/null; then rm -f "$stale"; fi
done

for driver in overlay2 vfs; do
    # setsid: the daemon outlives this script and the terminal that it was started from.
    setsid dockerd --bridge=none --iptables=false --ip-forward=false --storage-driver="$driver" \
        --host="unix://$socket" </dev/null >>"$log" 2>&1 &
    daemon=$!
    tries=0
    while [ $tries -lt 150 ] && kill -0 "$daemon" 2>/dev/null; do
        if answers; then
            echo "$daemon" >"$pid_file"
            echo "docker: started dockerd (pid $daemon, $driver, log $log)"
            exit 0
        fi
        sleep 0.2
        tries=$((tries + 1))
    done
    if kill -0 "$daemon" 2>/dev/null; then
        kill "$daemon"
        wait "$daemon" || true
    fi
    echo "docker: dockerd did not start with $driver" >&2
done
fail "dockerd did not start; see $log"
