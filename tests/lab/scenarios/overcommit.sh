# SPDX-License-Identifier: GPL-2.0
# memory_limit where a memory cgroup can be made: the machine is in one of its own, its memory.max is the kernel's, what
# does not fit goes to the pager's file, nothing is killed for want of memory, and no cgroup is left, whoever is killed.
#
# sample: 6.12
# memory: 1024
# cpu limit: 100
# modules: tun sch_tbf

groups() { ls -d /sys/fs/cgroup/faultline-* 2>/dev/null; }
in_group() { [ -n "$(groups)" ] && [ "$(wc -l <"$(groups)/cgroup.procs")" -ge 1 ] && [ "$(cat "$(groups)/memory.max")" != max ]; }
nobody_in_group() { [ -n "$(groups)" ] && [ -z "$(cat "$(groups)/cgroup.procs")" ]; }
no_group() { [ -z "$(groups)" ]; }

job() {
	cat >overcommit.ini <<-INI
		[machine]
		memory_limit = 4M
		directory = /work
		timeout = 10m
		[tenant vm]
		memory = 8M
		count = 2
		[device net]
		model = nic
		queue_depth = 16
		rx_buffer = 4K
		mtu = 9000
		[kvstore kv]
		items = 192
		item_size = 16K
		working_set = 160
		memory = $1
		clients = 2
		duration = $2
	INI
}

guest() {
	mkdir -p "$results" /run/faultline
	chmod 700 /run/faultline
	load tun
	load sch_tbf
	job demand 100ms
	if ! grep -qw memory /sys/fs/cgroup/cgroup.subtree_control; then
		faultline-inject run overcommit.ini >/dev/null 2>"$results/without"
		check_that "where no cgroup can be made the run says so" grep -q 'cgroup.subtree_control has no memory' "$results/without"
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	fi
	job demand 1s
	faultline-inject run overcommit.ini --csv="$results/demand.csv" >"$results/out" 2>"$results/err" &
	wait_for 60 in_group
	equal "the machine is in a cgroup of its own" $? 0
	cat "$(groups)/memory.max" >"$results/max"
	wait $!
	equal "the run ends well: $(tail -n 1 "$results/err")" $? 0
	check_that "it says by what it is held" grep -q 'held by a memory cgroup of its own' "$results/err"
	check_that "no cgroup is left" no_group
	job pin 100ms
	faultline-inject run overcommit.ini --csv="$results/pin.csv" >/dev/null 2>"$results/refused"
	equal "a run of which one store does not fit ends well" $? 0
	check_that "with both numbers" grep -q 'vm1/net: store kv does not start: tenant vm1 would pin 3072 KiB, and 768 KiB are left' "$results/refused"

	job demand 600s
	for victim in machine guardian both; do
		faultline-inject run overcommit.ini >/dev/null 2>&1 &
		guardian=$!
		wait_for 60 in_group || { not_ok "in a cgroup before $victim is killed"; break; }
		machine=$(grep -v "^$guardian\$" "$(groups)/cgroup.procs" | head -n 1)
		case $victim in
		machine) kill -KILL "$machine" ;;
		guardian) kill -KILL $guardian ;;
		both)
			kill -STOP $guardian
			kill -KILL "$machine" $guardian
			;;
		esac
		wait $guardian 2>/dev/null
		if [ $victim = both ]; then
			wait_for 30 nobody_in_group
			equal "the cgroup of a run whose both processes were killed has nobody in it" $? 0
			faultline-inject recover >"$results/recovered" 2>&1
		fi
		wait_for 30 no_group
		equal "no cgroup is left when $victim was killed" $? 0
	done
	check_that "recover tells of it and of the machine's entry" grep -q '^2 stale entries' "$results/recovered"
}

host() {
	equal "held by the cgroup" "$(cell_of in_cgroup demand.csv)" 1
	equal "both stores served, and every get hit" "$(cell_of instances demand.csv) $(cell_of hit_rate demand.csv)" "2 1"
	check_that "pages went, to a file on tmpfs, and came back" test "$(cell_of reclaimed demand.csv)" -gt 100 -a "$(cell_of major demand.csv)" -gt 100
	check_that "memory.max is the limit and the machine's own: $(cat max)" test "$(cat max)" -ge 4194304 -a "$(cat max)" -le 268435456
	check_that "the guests stayed below it" test "$(cell_of present_most_bytes demand.csv)" -le 4718592
	equal "one store could pin" "$(cell_of instances pin.csv) $(cell_of instances_refused pin.csv)" "1 1"
	equal "nothing broken" "$(cell_of violations demand.csv) $(cell_of mismatches demand.csv) $(cell_of errors demand.csv)" "0 0 0"
}
