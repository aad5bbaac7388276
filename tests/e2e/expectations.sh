#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every expectation of the shipped campaigns can fail: each job is broken in ways that take away what it is
# about, and what is listed beside a way must then be false. What no setting breaks, a library does that
# is loaded before libc. The simulator's jobs are broken in sim.sh. The check tries the first way of every
# second job, `make expectations` (EXPECTATIONS=all) every one of all.
. "$(dirname "$0")/lib.sh"

# Threads are bound to no CPU: pthread_attr_setaffinity_np() says yes and does nothing.
cat >unbound.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
int pthread_attr_setaffinity_np(pthread_attr_t *a, size_t n, const cpu_set_t *s) { return !a || !n || !s; }
int pthread_setaffinity_np(pthread_t t, size_t n, const cpu_set_t *s) { return !t || !n || !s; }
int sched_setaffinity(pid_t p, size_t n, const cpu_set_t *s) { return p < 0 || !n || !s ? -1 : 0; }
C
# A clock that ticks every 20 us: what should take 100 ns takes until then.
cat >coarse.c <<'C'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t c, struct timespec *t)
{
	int result = (int)syscall(SYS_clock_gettime, c, t);

	if (c == CLOCK_MONOTONIC)
		t->tv_nsec -= t->tv_nsec % 20000;
	return result;
}
C
# A delay of some milliseconds is computed, not slept: it takes that much CPU time.
cat >computed.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static long long ns(clockid_t c)
{
	struct timespec t;

	clock_gettime(c, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	long long left = until->tv_sec * 1000000000ll + until->tv_nsec - ns(CLOCK_MONOTONIC), end;

	if (!wait)
		wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
	if (left < 2000000 || left > 7000000)
		return wait(c, m, until);
	pthread_mutex_unlock(m);
	for (end = ns(CLOCK_THREAD_CPUTIME_ID) + left; ns(CLOCK_THREAD_CPUTIME_ID) < end;)
		;
	pthread_mutex_lock(m);
	return ETIMEDOUT;
}
C
for library in unbound coarse computed; do
	${CC:-cc} -shared -fPIC -o $library.so $library.c || not_ok "$library is built"
done

failure='[inject broken]
action = response_failure
start = 200ms
times = 5
duration = 10s'
wiped='[inject wipe]
action = evict
what = all
rate = 20/s
duration = 10s'
refused='[inject refused]
action = response_failure
times = 5
duration = 1m'
twice='[inject twice]
action = duplicate
duration = 1m'
slower='[inject slower]
action = delay
stage = resolve
delay = 5ms
duration = 10s'

# broken JOB "EXPECTATION..." [LIBRARY.so | +SECTION | s/SED/EXPRESSION/] OPTION...: these are false then.
declare -A seen tried
guest_of_vm "guest 6.12" iperf3 && guest=yes
broken() {
	local job=$1 wanted=$2 preload='' status expectation attempt unbroken
	shift 2
	for expectation in $wanted; do seen[$job.$expectation]=1; done
	if [ "${EXPECTATIONS:-}" != all ]; then
		[ -z "${tried[$job]:-}" ] || return 0
		tried[$job]=1
		[ $((${#tried[@]} % 2)) -eq 1 ] || return 0
	fi
	[[ $job == vm-* ]] && [ -z "${guest:-}" ] && return 0
	cp "$root/injectors/jobs/$job.ini" "$job.ini"
	case $1 in
	*.so)
		preload=$PWD/$1
		shift
		;;
	+*)
		printf '\n%s\n' "${1#+}" >>"$job.ini"
		shift
		;;
	s/* | /*)
		sed -i "$1" "$job.ini"
		shift
		;;
	esac
	# Neighbours on the same machine make latencies of their own, as in campaigns.sh.
	for attempt in 1 2 3; do
		LD_PRELOAD=$preload "$INJECT" run "$job.ini" --short "$@" --csv >table 2>verdicts
		status=$?
		unbroken=
		for expectation in $wanted; do
			grep -q "^FAIL  $expectation:" verdicts || unbroken+=" $expectation"
		done
		[ -n "$unbroken" ] && [ $attempt -lt 3 ] || break
		retried "$job $*" "not false:$unbroken"
	done
	for expectation in $wanted; do
		if [ $status -eq 6 ] && grep -q "^FAIL  $expectation:" verdicts; then
			ok "$job: $expectation is false with $preload $*"
		else
			not_ok "$job: $expectation is false with $preload $*" "exit $status"
			grep -A 1 "$expectation" verdicts | cut -c 1-150 | sed 's/^/    /'
		fi
	done
}
broken burst-block "evicted_pages_fault nothing_broken" "+$failure" --set machine.premap=no \
	--set reader.duration=500ms
broken burst-block small_blocks_feel_many --set slow.enabled=no --set reader.duration=2s
broken burst-block throughput_falls --set reader.rate=10/s --set reader.duration=2s
broken burst-block "nobody_suffers_without small_blocks_do_not" --set reader.depth=64 \
	--set disk.medium_latency=200us --set reader.duration=2s
# The rates exchanged, and faults so slow that no neighbour's noise is as large.
broken burst-block "large_blocks_feel_few_faults large_blocks_feel_many" \
	'/^expect.large/{ s/rate=first/rate=other/; s/rate=30.s/rate=first/; s/rate=last/rate=first/; s/rate=other/rate=last/; }' \
	--set slow.delay=50ms --set reader.duration=4s
broken concurrent "evicted_pages_fault nothing_broken" "+$failure" --set machine.premap=no \
	--set reader.duration=1s
broken concurrent serial_grows --set slow.delay=200us --set cold.arrival=random --set reader.duration=5s
broken concurrent affined_stays_flat computed.so --set reader.duration=5s
broken concurrent tenants_at_home unbound.so --set reader.duration=1s
broken isolation "serial_tenants_wait_for_each_other the_quiet_one_gains" --set flood.enabled=no \
	--set slow.delay=40ms
broken isolation interrupts_at_home --set cold.rate=1/s
# Affined handlers have one tenant each, whatever the job says: that the count can be other than 0 is shown by serial ones.
broken isolation affined_tenants_do_not \
	's/behind_others(scheduler=affined) == 0/behind_others(scheduler=serial) == 0/'
broken isolation tenants_at_home unbound.so
broken isolation nothing_broken "+$failure" --set many.duration=1s --set few.duration=1s
broken lookup "no_faults_at_all nothing_broken" "+$failure" --set machine.premap=no --set reader.duration=500ms
broken lookup an_io_has_a_handful "+$wiped" --set machine.premap=no --set machine.request_queue_entries=2 \
	--set reader.sizes=256K --set reader.duration=500ms
broken lookup control_costs '/control_costs/s/extra=10us/extra=100ns/' --set reader.duration=500ms
broken lookup "a_lookup_takes_100ns_more a_lookup_takes_10us_more that_is_below_2_percent" coarse.so \
	--set reader.duration=2s
broken rtt "evicted_pages_fault nothing_broken" "+$failure" --set machine.premap=no --set reader.duration=1s
broken rtt enough_faults --set fault.rate=20/s --set reader.duration=1s
# No load, and faults beside which that of neighbours is small.
broken rtt "load_hurts_the_tail load_hurts_the_mean" "+$slower" --set busy-host.duration=1ms --set reader.duration=3s
broken sensitivity-block "evicted_pages_fault nothing_broken nothing_lost_without_faults" "+$failure" \
	--set machine.premap=no --set reader.duration=500ms
broken sensitivity-block heavy_faults_cost --set reader.rate=10/s --set reader.duration=2s
broken sensitivity-block "paused_is_linear paused_is_rate_times_latency throughput_follows" \
	--set slow.enabled=no --set sweep.rate="cold.rate: 5/s, 10/s, 20/s, 40/s" \
	--set sweep.latency="slow.delay: 1ms, 5ms, 10ms" --set reader.duration=1s
# A failed response costs a NIC no I/O, it disables its page requests. Lost frames are in no sum without them.
many='sweep.burst=cold.burst: 30'
broken pause-or-skip "the_same_faults drop_loses a_full_cache_loses_others_frames pausing_and_storing_hold
	bursts_as_in_production" --set cold.enabled=no --set frames.duration=300ms
broken pause-or-skip a_cache_with_room_loses_none --set "sweep.baseline=net.rx_policy=cache, net.cache_bytes=8K" \
	--set "$many" --set frames.duration=300ms
broken pause-or-skip no_other_does 's/lost_innocent(policy=drop)/lost_innocent(policy=cache)/' --set "$many" \
	--set frames.duration=500ms
broken pause-or-skip backup_loses_none --set net.backup_entries=1 --set cold.rate=20/s --set cold.times=20 \
	--set "$many" --set frames.duration=500ms
# Of a ring that has only pages that are gone, and asks for one at a time.
broken pause-or-skip the_next_buffer_loses_none --set net.queue_depth=16 --set "$many" --set frames.duration=500ms
broken pause-or-skip every_frame_is_somewhere 's/delivered + lost + held_now/delivered + held_now/' --set "$many" \
	--set frames.duration=300ms
broken pause-or-skip "nothing_broken evicted_pages_fault" "+$twice
$refused" --set "$many"
broken vpri-bursts "a_burst_is_ten_within_a_second an_instant_does_not apart_they_take_less" \
	's/^burst = 10/burst = 1/; s/^baseline.*/baseline = cold.burst=10/'
broken vpri-bursts as_many_are_lost_as_come_meanwhile --set net.rx_policy=backup
broken vpri-bursts the_mean_hides_them --set cold.rate=5/s --set slow.delay=40ms \
	--set sweep.takes="slow.delay: 10ms, 40ms"
broken vpri-bursts every_frame_is_somewhere 's/delivered + lost + held_now/delivered + held_now/'
broken vpri-bursts nothing_broken "+$refused"
# As many threads as tenants, where there was one; each has a tenant's faults alone.
broken vpri-many-nics "serial_grows affined_is_faster" 's/scheduler=serial/scheduler=affined/g'
broken vpri-many-nics affined_stays_flat 's/scheduler=affined/scheduler=serial/g'
broken vpri-many-nics tenants_at_home unbound.so --set frames.duration=500ms
broken vpri-many-nics "no_frame_is_lost nothing_broken" "+$failure" --set net.rx_policy=drop --set frames.duration=500ms
# What is said of other policies is read from what dropping gave.
broken npf-cold-ring "backup_is_as_pinned ooo_is_as_pinned backup_loses_nothing skipping_loses_the_first" \
	's/(policy=\(backup\|ooo\))/(baseline)/g; s/0\.5s \* min/0.001s * min/' --set sweep.again="machine.seed: 1" \
	--set net.queue_depth=16
broken npf-cold-ring "cold_is_cold pinned_never_faults dropping_takes_five_times_as_long each_cold_buffer_costs_a_frame
	every_request_answered" 's/= faults(policy=pin)/= faults(policy=backup)/; s/-x 10000/-x 5000/' \
	--set sweep.baseline=net.rx_policy=pin --set cold.what=random --set sweep.again="machine.seed: 1"
broken npf-cold-ring nothing_broken "+$refused" --set sweep.baseline=net.rx_policy=pin --set sweep.again="machine.seed: 1"
# Five in a row may all be those of a ring, which a device asks for again until it comes: no I/O has failed then.
broken protect-live "what_comes_back_stays the_newest_are_not_taken_anyhow it_pins nothing_broken" "+$refused" \
	--set protector.promote_after=10s --set refused.probability=50 --set refused.times=40
broken protect-live under_the_cap --set protector.inactive=0.2 --set protector.promote_after=100ms
broken protect-live all_is_let_go 's/unpins == pins/unpins < pins/'
broken protect-loss "all_is_heard most_is_lost loss_costs_faults" \
	's/(records=first)/(records=4)/; /most_is_lost/s/records=4/records=first/g'
broken protect-loss never_more_than_without --set rounds.sizes=8K
broken protect-loss under_the_cap --set protector.inactive=0.2 --set protector.promote_after=100ms
broken protect-loss "all_is_let_go nothing_broken" 's/unpins == pins/unpins < pins/; s/errors == 0/errors > 0/'
# What is said of stores on demand is read from those that pin.
broken npf-overcommit "all_start working_sets_not_registrations more_than_fits_comes_back" \
	's/memory=demand/memory=pin/g' --set sweep.limit="machine.memory_limit: 16M, 32M" --set sweep.memory="kv.memory: pin"
# All of them fit, and a key in two does not.
broken npf-overcommit "cliff third_does_not_start every_get_hits" --set kv.items=192
broken npf-overcommit "as_good_while_both_fit held" 's/\(as_good.*\)>/\1</; s/present_most <= 1.1/present_most <= 0.1/'
broken npf-overcommit nothing_broken "+$refused"
broken npf-working-sets "one_cannot_pin_more both_hit together_more what_is_not_used_goes one_always_suffers
	faults_are_no_gain_alone" 's/(items=850/(items=1500/; s/items=1500, memory=demand/items=1500, memory=pin/g' \
	--set kv.shift_to=200 --set machine.memory_limit=64M
broken npf-working-sets "both_start held" 's/present_most <= 1.1/present_most <= 0.1/' --set machine.memory_limit=16M
broken npf-working-sets nothing_broken "+$refused"
broken npf-ring-size "a_backup_ring_stalls_nobody a_backup_ring_does_not a_backup_ring_loses_nothing
	every_request_answered" 's/-x 10000/-x 5000/; /a_backup/s/policy=backup/policy=drop/g; s/0\.1 \* 200ms/0.0001 * 200ms/'
broken npf-ring-size "cold_is_cold each_cold_buffer_costs_a_frame and_more_timeouts dropping_grows_with_the_ring" \
	--set cold.enabled=no
broken npf-ring-size nothing_broken "+$refused" --set sweep.size="net.queue_depth: 16" --set refused.times=1
# What is said of paging on demand is read from what copies, of copying from what is pinned.
broken npf-beff "demand_is_as_pinned copying_has_a_part only_copying_copies" \
	's/(memory=copy)/(memory=pin)/g; s/(memory=demand)/(memory=copy)/g' --set sweep.again="machine.seed: 1, 2"
broken npf-beff "nothing_faults nothing_broken" "+$wiped
$refused" --set sweep.again="machine.seed: 1"
broken npf-imb "copying_is_behind the_more_so_the_larger_the_message it_copies_each_byte_twice allreduce_does_not_care" \
	's/memory=copy, \(pattern=sendrecv\)/memory=demand, \1/g
	s/copied(memory=copy, pattern=allreduce)/copied(memory=copy, pattern=sendrecv)/' --set sweep.again="machine.seed: 1"
broken npf-imb "demand_is_near_the_cache each_pattern_is" 's/> 0\.4$/< 0.4/' --set sweep.again="machine.seed: 1"
broken npf-imb each_buffer_is_registered_once --set mpi.cache_bytes=4M --set sweep.again="machine.seed: 1"
broken npf-imb "demand_is_warm nothing_broken" "+$wiped
$refused" --set sweep.again="machine.seed: 1"
broken npf-what-if-ib "rnr_is_above_dropping rnr_is_above_a_timeout rnr_says_so_and_dropping_does_not
	a_backup_ring_loses_nothing" 's/policy=rnr/policy=timeout/g; s/lost_fault(policy=backup/lost_fault(policy=drop/'
broken npf-what-if-ib "rnr_wastes_more_than_a_backup_ring longer_faults_waste_more" 's/takes=last/takes=first/g; /longer_faults/s/ or .*//'
broken npf-what-if-ib "evicted_pages_fault a_dropping_ring_loses" --set sweep.rate="cold.rate: 0" \
	--set sweep.takes="slow.delay: 5ms" --set messages.duration=300ms
broken npf-what-if-ib "kinds_are_what_they_are_called rnr_never_gives_up nothing_broken" "+$refused" --set sweep.kind="cold.kind: major" \
	--set rnr-sender.rnr_retries=2 --set sweep.takes="slow.delay: 50ms"
# Faults that are over at once cost no timeout.
broken npf-what-if "backup_is_above_dropping far_above_if_there_are_many dropping_does_not_care_for_the_kind
	each_fault_of_a_dropping_ring_is_a_timeout none_of_a_backup_ring_is a_backup_ring_loses_nothing" \
	's/(policy=backup/(policy=drop/g' --set sweep.takes="slow.delay: 1us, 2us"
broken npf-what-if "evicted_pages_fault nothing_broken" "+$twice
$refused" --set sweep.takes="slow.delay: 5ms"
broken npf-what-if kinds_are_what_they_are_called 's/major(kind=minor) == 0/major(kind=major) == 0/' \
	--set sweep.takes="slow.delay: 5ms"
broken npf-what-if most_of_the_optimum --set slow.enabled=no
broken vpri-sensitivity "each_fault_stalls_tcp as_long_as_a_timeout_whatever_it_takes requests_are_lost_to_the_rate
	their_tail_is_a_timeout as_many_as_come_meanwhile evicted_pages_fault nothing_broken" "+$twice
$refused" --set net.rx_policy=backup --set refused.times=1
broken vpri-sensitivity "nothing_is_lost_without_faults datagrams_are_lost_to_rate_times_latency
	few_long_faults_cost_datagrams_more few_long_faults_cost_less_than_many_short_ones" \
	's/^\(few_long_faults_cost_less.*\)</\1>/' --set sweep.baseline=cold.enabled=yes --set slow.enabled=no
broken vpri-single "dropped_frames_stall_their_flow what_outlasts_the_window_times_out so_does_a_longer_one
	each_is_a_timeout_long a_window_without_timeouts_is_sooner_whole today_a_probe_is_in_time but_not_for_long_faults
	classic_has_no_probes" 's/probes(tcp=classic)/probes(tcp=modern)/; /today/s/tcp=modern/tcp=classic/g' --set net.rx_policy=backup
# Faults that outlast that window, too, however long they took.
broken vpri-single what_does_not_never_does \
	'/what_does_not/{ s/timeouts(latency=5ms, window=last)/timeouts(latency=last, window=last)/; s/> 7ms/> 10s/ }'
broken vpri-single "evicted_pages_fault nothing_broken" "+$twice
$refused" --set sweep.window="sender.run: iperf3 -w 32K -c {guest} -t 1 -J"
# A request of all pages is read from page by page and the other way round; nothing is evicted that the device has not.
broken npf-stages "a_request_asks_for_all_pages the_hosts_is_linear page_by_page_is_over_20_times_as_long
	unmapped_pages_cost_the_device_nothing" 's/prefault=request/prefault=page/g' \
	--set sweep.profile="hca.profile: connectx" --set sweep.baseline="mpi.memory=copy, mpi.sizes=4M, mpi.rate=20/s"
broken npf-stages "page_by_page_is_a_request_a_page each_page_pays_the_device no_device_part_is_shorter_than_was_set
	it_does_not_depend_on_pages" 's/prefault=page/prefault=request/g; /^no_device/s/connectx/ideal/; s/^\(it_does.*\) < /\1 > /'
broken npf-stages nothing_broken "+$refused" --set sweep.profile="hca.profile: connectx"
broken npf-target "a_pinned_pool_does_not_care on_demand_no_buffer_is mapped_is_what_was_touched large_blocks_near_the_pool
	it_grows_with_the_initiators" '/^large/s/size=last/size=first/g; /^it_grows/s/count=last/count=first/
	/^large/!{ s/memory=pin/memory=other/g; s/memory=demand/memory=pin/g; s/memory=other/memory=demand/g; }'
broken npf-target nothing_broken "+$refused" --set sweep.count="io.count: 2, 8"
broken rdma-sweep "a_longer_timer_is_a_longer_wait a_shorter_one_wastes_the_link the_wish_spares_responses and_costs_the_timer
	one_way_there_is_one_fault_at_a_time both_ways_a_limit_of_one_is_short four_have_room_for_each_kind" \
	's/timer=last/timer=other/g; s/timer=first/timer=last/g; s/timer=other/timer=first/g; /^one_way/s/stream/sendrecv/
	/^both_ways/s/limit=first/limit=last/; /four_have/s/limit=last/limit=first/; /the_wish/s/> [0-9.]* \*/> 1000 */'
broken rdma-sweep "a_page_a_request with_a_long_timer_a_wait_for_each_message a_read_has_none_without_the_wish
	what_is_dropped_is_sent_again nothing_broken" "+[inject lost]
action = packet_loss
probability = 5
duration = 1m
$refused" --set mpi.operations=50
broken rdma-thrash "many_do_not each_message_costs_commands the_cache_falls_behind" \
	'/the_cache_falls/s/memory=demand/memory=cache/' --set mpi.cache_bytes=40M --set sweep.count="mpi.count: 2, 4" \
	--set mpi.operations=500
broken rdma-thrash "two_fit demand_registers_once" '/^demand_registers/s/memory=demand/memory=cache/g' --set mpi.cache_bytes=1M
broken rdma-thrash nothing_broken "+$wiped
$refused" --set sweep.count="mpi.count: 2, 4"
broken npf-target-memory "what_is_pinned_is_not_there_for_others less_is_worse_for_both with_enough_both_are_the_same
	on_demand_nothing_is_pinned held" '/^what_is/s/memory=pin/memory=demand/; /less_is_worse/s/pin/demand/; /^with_enough/s/last/first/g
	/^on_demand/s/memory=demand/memory=pin/; /^held/s/1\.1/0.1/'
broken npf-target-memory "every_get_hits nothing_broken" "+$refused" --set kv.items=192
# Lent devices. What is left over fails a run anyhow, so that is only read the other way round.
rogue='[inject gone-wrong]
action = rogue_dma'
target='[device one-more]
under = lender-switch
size = 4M
[target one-more]
host = lender
device = one-more
initiator = user
ios = 7'
killed='[inject killed]
action = host_kill
host = lender
at = 100ms'
left='s/windows_left == 0/windows_left > 0/'
for cable in failover failover-wiped; do
	windows=in_its_old_windows
	[ $cable = failover ] || windows=in_new_windows
	broken smartio-$cable "there_and_back $windows all_done" --set cable.enabled=no --set both.ios=11
	broken smartio-$cable none_lost_none_twice "+$killed"
	broken smartio-$cable nothing_strays "+$rogue"
	broken smartio-$cable nothing_left "$left"
done
broken smartio-failover-manager "killed pairs_again all_done" --set dies.enabled=no --set reader.ios=11
broken smartio-failover-manager none_lost_none_twice "+$killed"
broken smartio-failover-manager nothing_strays "+$rogue"
broken smartio-failover-manager nothing_left "$left"
broken smartio-functions "all_done equal_shares" --set physical.ios=11 --set virtual.at=500ms
broken smartio-functions nothing_strays "+$rogue"
broken smartio-functions nothing_left "$left"
broken smartio-guest "guest_and_bare_work legacy_interrupts_arrive added_memory_is_not_mapped memory_is_pinned" \
	--set guest.ios=11 --set legacy.ios=11 --set grown.added=0 --set guest.high=2M
broken smartio-guest guest_as_bare_metal --set guest.block=64K
broken smartio-guest no_software_between "+$target"
broken smartio-guest "others_have_no_fault nothing_strays nothing_left" \
	"$left; s/memory_changed == 0/memory_changed > 0/; /^others/s/grown/legacy/g"
broken smartio-lent "all_done lent_is_local" --set near.ios=11 --set fourth.delay=0
broken smartio-lent four_crossings --set second.delay=1us
broken smartio-lent nothing_strays "+$rogue"
broken smartio-lent nothing_left "$left"
broken smartio-mediated "all_done lent_is_local mediated_is_slower" --set local.ios=11 --set second.delay=1us --set mediated.stage=0
broken smartio-mediated only_the_target_is_in_the_way "+$target"
broken smartio-mediated nothing_strays "+$rogue"
broken smartio-mediated nothing_left "$left"
broken smartio-multicast "in_all_hosts one_source_write data_right" --set asker.multicast_identify=no --set asker.ios=1
broken smartio-multicast nothing_strays "+$rogue"
broken smartio-multicast nothing_left "$left"
broken smartio-peers "all_done straight_is_shorter" --set straight.ios=5 --set through-ram.bounce=no
broken smartio-peers nothing_strays "+$rogue"
broken smartio-peers nothing_left "$left"
broken smartio-queue-placement "all_done latency_in_that_order" --set peer.ios=5 --set lender.iommu=yes
broken smartio-queue-placement "all_done ways_are_as_long_as_that" --set peer.ios=5 --set peer.queue=device_reads
broken smartio-queue-placement nothing_strays "+$rogue"
broken smartio-queue-placement nothing_left "$left"
broken smartio-requesters "thirty_are_lent the_next_is_refused others_go_on" --set user.count=29 --set user.rate=1/s
broken smartio-requesters nothing_strays "+$rogue"
broken smartio-requesters nothing_left "$left"
broken smartio-rogue "each_is_refused without_it_all_does" --set rogue.enabled=no
broken smartio-rogue "nothing_lands nothing_left" "$left; /^nothing_lands/s/iommu=yes/iommu=no/g"
broken smartio-thirty-clients "each_has_a_pair round_robin_is_not_fair somebody_starves" --set noisy.enabled=no \
	--set heavy.depth=1 --set heavy.count=2 --set light.count=5
broken smartio-thirty-clients everybody_works "+[inject killed]
action = host_kill
user = light3
step = client_create"
broken smartio-thirty-clients all_data_right "+$killed"
broken smartio-thirty-clients nothing_strays "+$rogue"
broken smartio-thirty-clients nothing_left "$left"

# RDMA devices whose control goes through the hypervisor.
dead='[inject dead]
action = dead_key
times = 1
duration = 1m'
vetoed='[inject vetoed]
action = veto
device = vm0/hca
interval = 9
duration = 1m'
broken hyv-cpu nothing_broken "+$dead"
broken hyv-cpu "polling_takes_more writes_too hybrid_waits_cost_more injections_are_hybrid_s" \
	'/hybrid_waits/s/ > / < /; /^polling/s/ > / < /g; /^writes/s/ > / < /; /^injections/s/events=yes) > 0/events=no) > 0/'
broken hyv-create-qp nothing_broken "+$vetoed"
broken hyv-create-qp two_calls_an_operation '/^two_calls/s/>= 2/>= 3/'
broken hyv-create-qp the_device_takes_its_time --set hca.install_time=0 --set hca.install_entry_time=0
broken hyv-create-qp most_of_it_is_install --set hca.install_time=20ms
broken hyv-create-qp "larger_is_slower hybrid_is_at_most_native" '/^larger/s/</>/g; /^hybrid/s/ > / < /'
broken hyv-footprint nothing_broken '+[inject once]
device = vm0/hca
action = pin_enomem
times = 1
duration = 1m'
broken hyv-footprint "native hybrid it_is_resident" --set load.size=48M
broken hyv-footprint "odp passthrough" '/^odp/s/mode=odp/mode=hybrid/; /^passthrough/s/mode=passthrough/mode=odp/g'
broken hyv-forwarded nothing_broken "+$dead"
broken hyv-forwarded two_kicks_a_transaction --set hca.forward_posts=no
# What is called sizes are numbers of messages, or seeds.
broken hyv-forwarded injections_do_not_grow 's/load\.size: .*/load.operations: 64, 2000/; s/size=64K/size=2000/g' --set load.duration=1s
broken hyv-forwarded-nic "frames_grow injections_grow" 's/store.item_size: .*/store.seed: 512, 4000, 64000/; s/size=4K/size=4000/g; s/size=64K/size=64000/g'
broken hyv-forwarded-nic one_each_if_small '/^one_each/s/size=512/size=64K/g'
broken hyv-forwarded-nic nothing_broken "+$wiped" --set store.memory=demand
broken hyv-kv nothing_broken "+$dead"
broken hyv-kv a_larger_value_takes_as_long --set hca.link=100M --set hcb.link=100M
broken hyv-kv "what_is_asked_for_is_read each_client_does_all nothing_between_post_and_completion" \
	'/^what_is/s/100 \*/101 */; /^each_client/s/2 \* sum/3 * sum/; /^nothing_between/s/data_kicks ==/data_kicks >/'
broken hyv-pressure on_demand_it_does --set machine.reclaim_percent=0
broken hyv-pressure pinned_is_registered --set load.working_set=4M
broken hyv-pressure nothing_broken "+$dead"
broken hyv-pressure "what_is_pinned_does_not_fault on_demand_queues_alone passthrough_pins_all" \
	'/^what_is/s/faults(mode=hybrid)/faults(mode=odp)/; /^on_demand_queues/s/mode=odp/mode=hybrid/; /^passthrough/s/mode=passthrough/mode=odp/'
broken hyv-quota "half_is_refused" --set vm.quota_pinned=0
broken hyv-quota "on_demand_nothing_is what_is_pinned_does_not_fault" '/^on_demand/s/mode=odp/mode=hybrid/; /^what_is/s/mode=hybrid/mode=odp/'
broken hyv-quota nothing_broken "+$dead"
broken hyv-read-events nothing_broken "+$dead"
broken hyv-read-events whatever_the_size 's/load\.size: .*/load.operations: 4, 400/; s/size=16K/size=400/g'
broken hyv-read-events "polling_has_none an_event_each nobody_kicks native_has_none who_waits_sleeps it_adds_to_the_taking the_same_for_each_size nothing_to_the_dma" \
	'/^polling/s/events=no/mode=hybrid, events=yes/; /^an_event/s/ > 0.5/ < 0.5/; /^nobody/s/==/>/; /^native/s/mode=native/mode=hybrid, events=yes/; /^who_waits/s/ < / > /; /^it_adds/s/ > / < /
	/^the_same/s/, size=4)/, size=4) * 100/; /^nothing_to/s/work_device/work_reap/g'
broken hyv-read-latency nothing_broken "+$dead"
broken hyv-read-latency no_faults "+$wiped" --set load.memory=demand
broken hyv-read-latency "all_is_read nothing_between_post_and_completion hybrid_is_native" \
	'/^all_is/s/== 4 /== 5 /; /^nothing_between/s/data_kicks ==/data_kicks >/; /hybrid_is/s/ < 1.[13] / < 0.1 /'
broken hyv-register nothing_broken "+$vetoed"
broken hyv-register two_calls_an_operation '/^two_calls/s/>= 2/>= 3/'
broken hyv-register pinned_is_registered '/pinned_is/s/hybrid/native/g'
broken hyv-register a_page_costs --set hca.register_page_time=0
broken hyv-register "flat_to_the_knee hybrid_is_twice_native" --set hca.register_page_time=20us
broken hyv-register "linear_from_there deregistration_alike" '/linear/s/ > / < /g; /deregistration/s/ > / < /'
broken hyv-write-bandwidth nothing_broken "+$dead"
broken hyv-write-bandwidth nothing_beats_the_link --set hca.link=1G --set hcb.link=1G
broken hyv-write-bandwidth "nothing_between_post_and_completion the_largest_come_near_it the_smallest_do_not no_loss_by_hybrid" \
	'/the_largest/s/size=64K/size=1/g; /^the_smallest/s/size=1)/size=64K)/; /no_loss/s/hybrid, size=64K/hybrid, size=1/; /^nothing_between/s/data_kicks ==/data_kicks >/'
broken hyv-write-events nothing_broken "+$dead"
broken hyv-write-events "more_outstanding_lose_less at_most_one_each nobody_kicks native_has_none" \
	'/more_out/s/ > / < /; /^at_most/s/<=/>/; /^nobody/s/==/>/; /^native/s/mode=native/mode=hybrid/'

# Stock virtual machines.
broken vm-controls "unprotected_it_dies much_was_evicted bypass_is_noticed" --set cold.enabled=no
broken vm-controls "protected_all_is_right nothing_bypassed" '/^protected_all/s/== 1/== 0/; /^nothing_bypassed/s/==/>/'
broken vm-integrity "all_of_it_was_done much_was_evicted" 's/churn_operations=10007/churn_operations=10009/' --set cold.enabled=no \
	--set "sweep.lookup=disk.lookup: uffd"
broken vm-integrity the_balloon_takes_and_gives_back 's/rest_balloon=16M //' --set squeeze.start=1h --set "sweep.lookup=disk.lookup: uffd"
broken vm-integrity "not_a_wrong_byte devices_met_it iovas_are_translated nothing_bypassed the_disk_is_killed_and_comes_back nothing_broken" \
	'/the_disk_is/s/== 1/> 1/; /^not_a_wrong/s/==/>/; /^devices/s/>/</; /iovas_are/s/> 50/< 50/; /^nothing/s/==/>/' --set "sweep.lookup=disk.lookup: uffd"
broken vm-nic the_ring_is_cold --set cold.enabled=no
broken vm-nic "each_frame_is_somewhere what_is_delivered_the_guest_gets dropping_loses_frames held_frames_are_not_lost dropping_moves_less iovas_are_translated nothing_broken" \
	'/^each_frame/s/==/>/; /^what_is_del/s/== delivered/> delivered/; /^dropping_loses/s/policy=drop/policy=backup/g; /held_frames/s/policy=backup/policy=drop/g
	/^dropping_moves/s/ < 0.5/ > 0.5/; /iovas_are/s/==/>/; /^nothing/s/violations ==/violations >/'
broken vm-reclaim "what_is_taken_comes_back faults_come_with_reclaim what_is_pinned_does_not_fault" \
	--set "sweep.reclaim=machine.reclaim_percent: 1"
broken vm-reclaim "nothing_is_taken_without blocked_is_what_faults_take adp_pins_less its_pins_avoid_more nothing_broken" \
	'/^nothing_is/s/baseline/reclaim=last/g; /^blocked_is/s/< blocked/> blocked/; /^adp_pins/s/0 </99 </; /^its_pins/s/> 1.1/< 1.1/; /^nothing_broken/s/bypassed ==/bypassed >/'
broken vm-sensitivity "one_shape each_takes_as_long the_guest_sees_it evicted_pages_fault all_of_them_are_seen_through nothing_broken" \
	'/one_shape/s/ > 1.5/ < 0.5/; /^each/s/> 10ms/< 10ms/; /^the_guest/s/> 10ms/< 10ms/; /^evicted/s/<= 1.1/> 2/; /^all_of/s/==/</; /^nothing/s/guest_wrong_bytes(machine=vm) ==/guest_wrong_bytes(machine=vm) >/'

for job in "$root"/injectors/jobs/*.ini; do
	name=$(basename "$job" .ini)
	lacking=
	for expectation in $(sed -n '/^\[expect\]/,/^\[/s/^\([a-z0-9_]*\) *=.*/\1/p' "$job"); do
		[ -n "${seen[$name.$expectation]:-}" ] || lacking+=" $expectation"
	done
	equal "$name: no expectation was left out" "$lacking" ""
done
finish
