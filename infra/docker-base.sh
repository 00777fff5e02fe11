#!/bin/sh
# Make the base image of the docker sandbox without a registry, once: debootstrap + docker import.
#
# Usage: docker-base.sh [IMAGE]        default: flywheel-base:bookworm, as in SandboxConfig.docker_image
#
# The image holds a Debian of the suite that its tag names and the shared libraries that interpreters
# commonly need. It holds neither a repository nor its environment: those, and the interpreter that the
# environment refers to, are mounted read-only, so that one image serves every Python version.
# Debian or Ubuntu with debootstrap (installed by apt-get if missing), as root, with a daemon that answers.
set -eu

image=${1:-flywheel-base:bookworm}
suite=${image##*:}
mirror=${FLYWHEEL_DEBIAN_MIRROR:-}  # empty: the one that debootstrap knows
packages=libbz2-1.0,libexpat1,libffi8,liblzma5,libncursesw6,libreadline8,libsqlite3-0
packages=$packages,libssl3,python3,util-linux,zlib1g

fail() {
    echo "docker-base: $1" >&2
    exit 1
}

docker version >/dev/null 2>&1 || fail "no docker daemon answers; run infra/start-dockerd.sh"
if docker image inspect "$image" >/dev/null 2>&1; then
    echo "docker: $image is there already"
    exit 0
fi
[ "$(id -u)" = 0 ] || fail "debootstrap needs root; or set sandbox.docker_image to an image that you have"
if ! command -v debootstrap >/dev/null 2>&1; then
    command -v apt-get >/dev/null 2>&1 || fail "debootstrap is not installed and there is no apt-get"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
debootstrap --variant=minbase --include="$packages" "$suite" "$work/root" ${mirror:+"$mirror"} >"$work/log" 2>&1 ||
    { tail -5 "$work/log" >&2; fail "debootstrap of $suite${mirror:+ from $mirror} failed"; }
rm -rf "$work"/root/var/cache/apt/* "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/doc/* \
    "$work"/root/usr/share/man/* "$work"/root/usr/share/locale/*
tar --numeric-owner -C "$work/root" -c . |
    docker import --change 'LABEL flywheel.base=1' - "$image" >/dev/null
echo "docker: made $image"
