#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Installs the Debian packages that are missing: tests/setup.sh build|demo|lab|check|bench|fresh
# `tests/setup.sh list SET` names those of a set. tests/suites/packages.py holds the sets against what
# the scripts call.
set -euo pipefail

build=(gcc make clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev libzstd-dev libjansson-dev
       libinih-dev libxxhash-dev libncurses-dev uthash-dev systemtap-sdt-dev
       libibverbs-dev libmnl-dev libprotobuf-c-dev protobuf-c-compiler libmicrohttpd-dev)
demo=("${build[@]}" gnuplot-nox python3)
lab=("${build[@]}" qemu-system-x86 busybox-static kmod xz-utils zstd python3 debian-archive-keyring iproute2 dmsetup
     rdma-core ibverbs-providers ibverbs-utils libibverbs-dev dwarves patchelf strace iperf3)
check=("${lab[@]}" gnuplot-nox libcmocka-dev linux-perf python3 python3-clang python3-xxhash python3-zstandard tmux clang-format
       clang-tidy libclang-rt-14-dev shfmt util-linux mount procps man-db e2fsprogs zstd jq
       fio libmemcached-tools memcached sockperf nodejs npm perftest
       prometheus prometheus-alertmanager victoria-metrics chromium chromium-driver python3-selenium
       curl protobuf-compiler debhelper dpkg-dev lintian fakeroot zsh mandoc debootstrap systemd)
bench=("${check[@]}" bpftrace valgrind prometheus-node-exporter)
fresh=(debootstrap debian-archive-keyring git ca-certificates util-linux)

[ "${1:-}" = list ] && list=yes && shift
case ${1:-build} in
build) wanted=("${build[@]}") ;;
demo) wanted=("${demo[@]}") ;;
lab) wanted=("${lab[@]}") ;;
check) wanted=("${check[@]}") ;;
bench) wanted=("${bench[@]}") ;;
fresh) wanted=("${fresh[@]}") ;;
*) echo "Usage: tests/setup.sh [list] build|demo|lab|check|bench|fresh" >&2; exit 2 ;;
esac
[ -n "${list:-}" ] && printf '%s\n' "${wanted[@]}" && exit

# uPlot, for the plots of pages: without npm or its registry the build goes on without them, and says so.
fetch_uplot() {
	case ${1:-build} in
	build | demo | check | bench) "$(dirname "$0")/uplot/fetch.sh" path >/dev/null || true ;;
	esac
}

# What is installed, and what that provides: some packages of nodejs have an npm of their own.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' | sed -n 's/^installed //p' | tr -s ' ,' '\n')
missing=()
for package in "${wanted[@]}"; do
	grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && fetch_uplot "$@" && exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "faultline: run as root, or install: apt-get install ${missing[*]}" >&2
	exit 4
fi
echo "installing: ${missing[*]}"
# RUNLEVEL: servers that are installed for campaigns are not started on the host.
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fetch_uplot "$@"
