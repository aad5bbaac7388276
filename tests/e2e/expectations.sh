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
broken() {
	local job=$1 wanted=$2 preload='' status expectation attempt unbroken
	shift 2
	for expectation in $wanted; do seen[$job.$expectation]=1; done
	if [ "${EXPECTATIONS:-}" != all ]; then
		[ -z "${tried[$job]:-}" ] || return 0
		tried[$job]=1
		[ $((${#tried[@]} % 2)) -eq 1 ] || return 0
	fi
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
broken burst-block throughput_falls --set reader.rate=100/s --set reader.duration=1s
broken burst-block "nobody_suffers_without small_blocks_do_not" --set reader.depth=64 \
	--set disk.medium_latency=200us --set reader.duration=2s
# The rates exchanged, and faults so slow that no neighbour's noise is as large.
broken burst-block "large_blocks_feel_few_faults large_blocks_feel_many" \
	's/^\(large.*\)(size=2M, rate=10*.s)\(.*\)(size=2M, rate=0)/\1(size=2M, rate=0)\2(size=2M, rate=100\/s)/' \
	--set slow.delay=50ms --set disk.medium_bandwidth=1000G --set reader.duration=4s
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
broken lookup control_costs --set reader.rate=100/s --set reader.duration=500ms
broken lookup "a_lookup_takes_100ns_more a_lookup_takes_10us_more that_is_below_2_percent" coarse.so \
	--set reader.duration=2s
broken rtt "evicted_pages_fault nothing_broken" "+$failure" --set machine.premap=no --set reader.duration=1s
broken rtt enough_faults --set fault.rate=20/s --set reader.duration=1s
# No load, and faults beside which that of neighbours is small.
broken rtt "load_hurts_the_tail load_hurts_the_mean" "+$slower" --set busy-host.duration=1ms --set reader.duration=5s
broken sensitivity-block "evicted_pages_fault nothing_broken nothing_lost_without_faults" "+$failure" \
	--set machine.premap=no --set reader.duration=500ms
broken sensitivity-block heavy_faults_cost --set reader.rate=100/s --set reader.duration=1s
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
broken protect-live "what_comes_back_stays the_newest_are_not_taken_anyhow it_pins nothing_broken" "+$refused" \
	--set protector.promote_after=10s
broken protect-live under_the_cap --set protector.inactive=0.2 --set protector.promote_after=100ms
broken protect-live all_is_let_go 's/unpins == pins/unpins < pins/'
broken protect-loss "all_is_heard most_is_lost loss_costs_faults" \
	's/(records=64)/(records=4)/; /most_is_lost/s/records=4/records=64/g'
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
	every_request_answered" 's/-x 10000/-x 5000/; /a_backup/s/policy=backup/policy=drop/g; s/0\.1s \*/0.0001s */'
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
	s/memory=demand, pattern=allreduce, size=[a-z]*/memory=demand, pattern=sendrecv, size=last/g' --set sweep.again="machine.seed: 1"
broken npf-imb "demand_is_near_the_cache each_pattern_is" 's/> 0.75/< 0.75/' --set sweep.again="machine.seed: 1"
broken npf-imb each_buffer_is_registered_once --set mpi.cache_bytes=4M --set sweep.again="machine.seed: 1"
broken npf-imb "demand_is_warm nothing_broken" "+$wiped
$refused" --set sweep.again="machine.seed: 1"
broken npf-what-if-ib "rnr_is_above_dropping rnr_is_above_a_timeout rnr_says_so_and_dropping_does_not
	a_backup_ring_loses_nothing" 's/policy=rnr/policy=timeout/g; s/lost_fault(policy=backup/lost_fault(policy=drop/'
broken npf-what-if-ib "rnr_wastes_more_than_a_backup_ring longer_faults_waste_more" 's/takes=last/takes=first/g'
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
	--set mpi.duration=1s
broken rdma-thrash "two_fit demand_registers_once" '/^demand_registers/s/memory=demand/memory=cache/g' --set mpi.cache_bytes=1M
broken rdma-thrash nothing_broken "+$wiped
$refused" --set sweep.count="mpi.count: 2, 4"
broken npf-target-memory "what_is_pinned_is_not_there_for_others less_is_worse_for_both with_enough_both_are_the_same
	on_demand_nothing_is_pinned held" '/^what_is/s/memory=pin/memory=demand/; /less_is_worse/s/pin/demand/; /^with_enough/s/last/first/g
	/^on_demand/s/memory=demand/memory=pin/; /^held/s/1\.1/0.1/'
broken npf-target-memory "every_get_hits nothing_broken" "+$refused" --set kv.items=192

for job in "$root"/injectors/jobs/*.ini; do
	name=$(basename "$job" .ini)
	lacking=
	for expectation in $(sed -n '/^\[expect\]/,/^\[/s/^\([a-z0-9_]*\) *=.*/\1/p' "$job"); do
		[ -n "${seen[$name.$expectation]:-}" ] || lacking+=" $expectation"
	done
	equal "$name: no expectation was left out" "$lacking" ""
done
finish
