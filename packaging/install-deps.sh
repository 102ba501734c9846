#!/usr/bin/env bash
# Installs what rlock needs to be built (build), packed once it is built (package), built for release (release), tested (test), measured
# (bench), tested at length (soak) or linted (lint).
#
#   packaging/install-deps.sh build|package|release|test|bench|soak|lint
#
# On Debian and Ubuntu: with apt, as root or through sudo, only what is missing; touches nothing where nothing is.
# Elsewhere: names what is missing and exits 1.
# Single quotes hold what dpkg and apt expand, and what check_elsewhere runs is called by name.
# shellcheck disable=SC2016,SC2317
set -euo pipefail

# su without a dash leaves the sbin folders out, and dpkg stops without them.
PATH=$PATH:/usr/sbin:/sbin

hiredis_minimum=1.2.0
# The first Debian release whose hiredis is new enough; Debian 12 builds from its source package.
hiredis_suite=trixie

build=(g++ cmake ninja-build pkg-config libcli11-dev nlohmann-json3-dev libssl-dev zlib1g-dev libzstd-dev libc-ares-dev
    libhttp-parser-dev)
# `--server local` takes either server; another one than Debian's will do.
command -v redis-server valkey-server >/dev/null || build+=(redis-server)
test=(
    redis-server bats libgtest-dev dpkg-dev jq python3 python3-redis python3-pexpect python3-yaml python3-jsonschema
    python3-prometheus-client expect
    util-linux bsdextrautils e2fsprogs iproute2 procps strace socat openssl shellcheck spin mandoc groff-base man-db
    bash-completion zsh fish busybox-static
)
# Not every release has these; without them their tests are skipped.
optional=(nutcracker python3-pyte etcd-server etcd-client)
# Its tests take the Java that is there.
! command -v java >/dev/null || optional+=(libzookeeper-java)
for name in "${optional[@]}"; do
    ! apt-cache show "$name" >/dev/null 2>&1 || test+=("$name")
done
package=(cmake make dpkg-dev jq lintian rpm)
bench=(hyperfine daemontools etcd-server etcd-client)
soak=(clang-19 libclang-rt-19-dev debootstrap qemu-user-static)
release=(make perl python3-pip debian-archive-keyring dpkg-dev)
lint=(clang-tidy-19 clang-format-19 shellcheck flake8)
# What starts when a package of these lists is installed.
declare -A service_of=([redis-server]=redis-server [etcd-server]=etcd [nutcracker]=nutcracker)

die() {
    printf 'install-deps: %s\n' "$*" >&2
    exit 1
}

# Silent, unless the command fails: then all it said.
quietly() {
    "$@" >"$work/log" 2>&1 </dev/null && return
    cat "$work/log" >&2
    die "failed: $*"
}

# True as well where it is not needed.
hiredis_there() {
    [[ -z $needs_hiredis ]] ||
        pkg-config --exists "hiredis >= $hiredis_minimum" "hiredis_ssl >= $hiredis_minimum" 2>/dev/null
}

not_installed() {
    local installed package
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    for package; do
        grep -qxF "$package installed" <<<"$installed" || printf '%s\n' "$package"
    done
}

# Without apt the names of packages differ, so this looks for the things themselves. Without a compiler it cannot see
# headers and names them too.
check_elsewhere() {
    local lacking=() program
    need() {
        local what=$1
        shift
        "$@" >/dev/null 2>&1 || lacking+=("$what")
    }
    compiles() { "${CXX:-c++}" -std=c++23 -fsyntax-only -x c++ - <<<"#include <$1>"; }

    if [[ $purpose != package ]]; then
        need 'a C++23 compiler (g++ 12 or later)' compiles expected
        for program in cmake ninja pkg-config; do
            need "$program" command -v "$program"
        done
        need CLI11 compiles CLI/CLI.hpp
        need nlohmann-json compiles nlohmann/json.hpp
        need 'c-ares >= 1.18' pkg-config --exists 'libcares >= 1.18'
        need 'http-parser 2.9' compiles http_parser.h
        need OpenSSL pkg-config --exists openssl
        need "hiredis >= $hiredis_minimum with TLS" hiredis_there
        need 'redis-server or valkey-server' command -v redis-server valkey-server
    fi
    if [[ $purpose == test || $purpose == bench || $purpose == soak ]]; then
        need GoogleTest compiles gtest/gtest.h
        need 'the redis module of Python' python3 -c 'import redis'
        need 'the pexpect module of Python' python3 -c 'import pexpect'
        need 'the yaml module of Python' python3 -c 'import yaml'
        need 'the jsonschema module of Python' python3 -c 'import jsonschema'
        need 'the prometheus_client module of Python' python3 -c 'import prometheus_client'
        for program in bats jq python3 expect redis-server redis-cli flock setsid column ps pkill strace \
            socat openssl shellcheck spin mandoc zsh fish; do
            need "$program" command -v "$program"
        done
    fi
    if [[ $purpose == package || $purpose == soak ]]; then
        for program in cmake make dpkg-deb dpkg-shlibdeps jq lintian rpmbuild; do
            need "$program" command -v "$program"
        done
    fi
    if [[ $purpose == bench ]]; then
        for program in hyperfine setlock etcd etcdctl; do
            need "$program" command -v "$program"
        done
    fi
    if [[ $purpose == soak ]]; then
        need 'clang++ 16 or later' command -v clang++-19 clang++
    fi
    if [[ $purpose == lint ]]; then
        for program in clang-tidy-19 clang-format-19 shellcheck flake8; do
            need "$program" command -v "$program"
        done
    fi
    ((${#lacking[@]} == 0)) && return
    {
        echo 'install-deps: this is not Debian or Ubuntu (no apt), so please install these yourself:'
        printf '  %s\n' "${lacking[@]}"
    } >&2
    exit 1
}

# A package that nobody asked for by name must not open a port, now or after the next boot. Only services that this
# run brings along are kept off; where the administrator has a policy, that one rules.
install_packages() {
    local package services=()
    for package; do
        [[ -z ${service_of[$package]-} ]] || services+=("${service_of[$package]}")
    done
    if ((${#services[@]} > 0)) && [[ ! -e /usr/sbin/policy-rc.d ]]; then
        made_policy=/usr/sbin/policy-rc.d
        # Asked for a unit or for an init script, hence with and without the suffix.
        {
            printf '#!/bin/sh\ncase ${1%%.service} in\n'
            printf '%s) exit 101 ;;\n' "${services[@]}"
            echo 'esac'
        } >"$made_policy"
        chmod 755 "$made_policy"
    fi
    quietly apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$@"
    for package in "${services[@]}"; do
        quietly update-rc.d "$package" disable
    done
}

# Static libraries only: a binary that is built with them runs on machines that lack them.
build_hiredis() {
    open_sources "$work" "$hiredis_suite"
    extract_source hiredis/"$hiredis_suite" "$work/hiredis"
    cd "$work/hiredis"
    # Debian's own hardening flags, as its package is built with.
    eval "$(dpkg-buildflags --export=sh)"
    quietly make -j2 USE_SSL=1 static
    quietly make PREFIX=/usr/local USE_SSL=1 pkgconfig

    install -D -m 644 -t /usr/local/include/hiredis \
        hiredis.h hiredis_ssl.h async.h read.h sds.h alloc.h sockcompat.h
    install -D -m 644 -t /usr/local/lib libhiredis.a libhiredis_ssl.a
    # Last, since this is what hiredis_there looks at.
    install -D -m 644 -t /usr/local/lib/pkgconfig hiredis_ssl.pc hiredis.pc
    hiredis_there || die "hiredis is in /usr/local now, but pkg-config does not find it"
}

# shellcheck source=packaging/sources.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/sources.sh"

purpose=${1-} needs_hiredis=yes
case $purpose in
    build) packages=("${build[@]}") ;;
    package) packages=("${package[@]}") needs_hiredis='' ;;
    test) packages=("${build[@]}" "${test[@]}") ;;
    bench) packages=("${build[@]}" "${test[@]}" "${bench[@]}") ;;
    soak) packages=("${build[@]}" "${test[@]}" "${package[@]}" "${release[@]}" "${soak[@]}") ;;
    lint) packages=("${build[@]}" "${lint[@]}") ;;
    release) packages=("${build[@]}" "${package[@]}" "${release[@]}") ;;
    *)
        echo 'usage: install-deps.sh build|package|release|test|bench|soak|lint' >&2
        exit 64
        ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    check_elsewhere
    exit
fi

mapfile -t missing < <(not_installed "${packages[@]}" | sort -u)
if ((${#missing[@]} == 0)) && hiredis_there; then
    exit
fi

if ((EUID != 0)); then
    wanted=${missing[*]}
    hiredis_there || wanted+="${wanted:+ }hiredis >= $hiredis_minimum"
    command -v sudo >/dev/null || die "run this as root (there is no sudo); missing: $wanted"
    echo "install-deps: to be installed, through sudo: $wanted" >&2
    exec sudo -- bash "$0" "$purpose"
fi

export DEBIAN_FRONTEND=noninteractive
# A careful root's umask would hide from _apt what it must read, and from users what is installed.
umask 022
work=$(mktemp -d)
made_policy=
trap 'rm -rf "$work" ${made_policy:+"$made_policy"}' EXIT
trap 'exit 1' HUP INT TERM

SECONDS=0
echo "install-deps: reading apt's lists" >&2
quietly apt-get update
hiredis_from=
if ! hiredis_there; then
    candidate=$(LC_ALL=C apt-cache policy libhiredis-dev | sed -n 's/^  Candidate: //p')
    if dpkg --compare-versions "$candidate" ge "$hiredis_minimum"; then
        missing+=(libhiredis-dev)
    else
        hiredis_from=source
        mapfile -t -O "${#missing[@]}" missing < <(not_installed make dpkg-dev)
        # There or not: an older one may lack the keys of a newer release.
        missing+=(debian-archive-keyring)
    fi
fi
if ((${#missing[@]} > 0)); then
    echo "install-deps: installing ${missing[*]} and what these need" >&2
    install_packages "${missing[@]}"
fi
if [[ $hiredis_from == source ]] && ! hiredis_there; then
    echo "install-deps: building hiredis from the source package of $hiredis_suite into /usr/local" >&2
    build_hiredis
fi
echo "install-deps: done in $SECONDS s" >&2
