# SPDX-License-Identifier: GPL-2.0
# In the guest: one unmodified program of verbs at the kernel's soft-RoCE and at two emulated devices. Sourced by who wants it,
# who also names its modules, programs and paths.

rxe_begin() {
	load ib_uverbs
	# Asked for by name, which no table of modules tells.
	[ "$kernel" = new ] || load crc32_generic
	load rdma_rxe
	load dummy numdummies=0
	ip link set lo up
	ip link add dummy0 type dummy
	# Its MTU decides about RDMA's.
	ip link set dummy0 mtu 9000 up
	ip address add 10.87.0.1/24 dev dummy0
	rdma link add rxe0 type rxe netdev dummy0
	wait_for 5 test -e /dev/infiniband/uverbs0
}

rxe_end() {
	rdma link delete rxe0
	ip link delete dummy0
	unload rdma_rxe dummy
}

# The port of these programs, 18515, in the tables of TCP sockets.
listening() { grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6; }

# at_rxe NAME PROGRAM...: as two processes, which say NAME.server and NAME.client, and are $server and $client.
at_rxe() {
	local name=$1
	shift
	"$@" -d rxe0 -g 1 >"$name.server" 2>&1 &
	server=$!
	wait_for 30 listening || not_ok "$name: server listens" "$(tail -n 1 "$name.server")"
	"$@" -d rxe0 -g 1 127.0.0.1 >"$name.client" 2>&1 &
	client=$!
	wait $client || not_ok "$name: client at rxe" "$(tail -n 1 "$name.client")"
	wait $server
	equal "$name: server at rxe" $? 0
}

# tenant NAME PROGRAM and device NAME TENANT PEER: sections of a job.
tenant() { printf '[tenant %s]\nmemory = 64M\nprocess = own\nprogram = %s\n' "$@"; }
device() { printf '[device %s]\ntenant = %s\nmodel = rdma\npeer = %s\nlink = off\nmode = hybrid\n' "$@"; }

# at_emulated NAME PROGRAM...: as two guests, with NAME.out, NAME.csv and NAME.truth.
at_emulated() {
	local name=$1
	shift
	{
		printf '[machine]\ntimeout = 10m\n'
		tenant left "$*"
		echo 'program_ready = tcp:18515'
		tenant right "$* 127.0.0.1"
		device a left right/b
		device b right left/a
	} >job.ini
	mkdir -p /run/faultline
	chmod 700 /run/faultline
	rm -f "$name.truth" "$name.csv"
	TMPDIR=/tmp faultline-inject run job.ini --csv="$name.csv" --truth "$name.truth" >"$name.out" 2>&1
	equal "$name: both at the emulated device" $? 0
}
