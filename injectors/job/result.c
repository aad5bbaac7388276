// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/result.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct job_column result_columns[RESULT_COLUMNS] = {
	[RESULT_SECONDS] = {"duration", NULL, "s", COLUMN_REAL, 8, true, "length of the run"},
	[RESULT_IOS] = {"ios", NULL, NULL, COLUMN_COUNT, 9, true, "I/Os completed"},
	[RESULT_UNSENT] =
		{"unsent", NULL, NULL, COLUMN_COUNT, 7, true,
		 "I/Os that a rate had due before the end and that were never sent, because the "
		 "queue was full; ios + unsent is what was planned"},
	[RESULT_IOPS] = {"iops", NULL, "per_s", COLUMN_REAL, 9, false, "I/Os per second"},
	[RESULT_BYTES_PER_S] = {"throughput", NULL, "bytes_per_s", COLUMN_REAL, 12, true,
				"bytes moved per second"},
	[RESULT_LATENCY_MEAN] =
		{"latency_mean", NULL, "ns", COLUMN_DURATION, 9, true,
		 "latency of I/Os and of operations of ranks and verbs as the guest sees it: from the submission, with a rate from when the "
		 "I/O was due, to its completion; of a virtual machine's disk as the device sees it: from its seeing "
		 "the I/O in the ring to its having used it; what was never sent counts with its wait up "
		 "to the end"},
	[RESULT_LATENCY_P50] = {"latency_p50", "p50", "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_LATENCY_P90] = {"latency_p90", "p90", "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_LATENCY_P99] = {"latency_p99", "p99", "ns", COLUMN_DURATION, 9, false, NULL},
	[RESULT_LATENCY_P999] = {"latency_p999", "p999", "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_LATENCY_P9999] = {"latency_p9999", "p9999", "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_LATENCY_MAX] = {"latency_max", NULL, "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_LATENCY_MIN] = {"latency_min", NULL, "ns", COLUMN_DURATION, 9, true,
				"what other work on the machine disturbs least"},
	[RESULT_MIN_IOPS] = {"min_iops", NULL, "per_s", COLUMN_REAL, 9, true,
			     "I/Os per second in the slowest 100 ms of the workload that had it "
			     "worst"},
	[RESULT_FAULTS] = {"faults", NULL, NULL, COLUMN_COUNT, 7, false,
			   "page requests raised, those that a full queue dropped included"},
	[RESULT_GROUPS] = {"groups", NULL, NULL, COLUMN_COUNT, 7, true,
			   "page request groups raised, of up to group_pages requests each"},
	[RESULT_MAJOR] = {"major", NULL, NULL, COLUMN_COUNT, 7, true,
			  "pages that came back from storage"},
	[RESULT_ROUND_TRIPS] = {"round_trips", NULL, NULL, COLUMN_COUNT, 7, true,
				"faulting page request groups that the device saw through"},
	[RESULT_ROUND_TRIP_MEAN] =
		{"round_trip_mean", NULL, "ns", COLUMN_DURATION, 9, true,
		 "detect to resume, measured by the device, with the wait for page requests"},
	[RESULT_ROUND_TRIP_P50] = {"round_trip_p50", "rtt50", "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_ROUND_TRIP_P90] = {"round_trip_p90", "rtt90", "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_ROUND_TRIP_P99] = {"round_trip_p99", "rtt99", "ns", COLUMN_DURATION, 9, false,
				   NULL},
	[RESULT_ROUND_TRIP_MAX] = {"round_trip_max", NULL, "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_HOST_MEAN] = {"host_mean", NULL, "ns", COLUMN_DURATION, 9, true,
			      "of round_trip_mean the host's part: from a group's first request to "
			      "the response to the last of those raised together"},
	[RESULT_DEVICE_MEAN] = {"device_mean", NULL, "ns", COLUMN_DURATION, 9, true,
				"and the device's: before that request and after that response"},
	[RESULT_HOST_LEAST] =
		{"host_least", NULL, "ns", COLUMN_DURATION, 9, true,
		 "the host's part of the group whose was shortest: what it is without "
		 "the neighbours on this host"},
	[RESULT_DEVICE_LEAST] = {"device_least", NULL, "ns", COLUMN_DURATION, 9, true,
				 "likewise the device's"},
	[RESULT_OVERFLOWS] = {"overflows", NULL, NULL, COLUMN_COUNT, 9, true,
			      "page requests that a full queue dropped"},
	[RESULT_OVERFLOW_EPOCHS] =
		{"overflow_epochs", NULL, NULL, COLUMN_COUNT, 15, true,
		 "times that the queue overflowed and dropped everything until the "
		 "host had caught up"},
	[RESULT_DISCARDS] = {"discards", NULL, NULL, COLUMN_COUNT, 9, true,
			     "page requests that the host threw away with their group, which an "
			     "overflow left without its end"},
	[RESULT_AUTO_ANSWERED] = {"auto_answered", NULL, NULL, COLUMN_COUNT, 13, true,
				  "page request groups that the IOMMU answered itself: their last "
				  "request was dropped"},
	[RESULT_DISABLES] = {"disables", NULL, NULL, COLUMN_COUNT, 9, true,
			     "times that a response FAILURE disabled a device's page requests"},
	[RESULT_REFUSED] = {"refused", NULL, NULL, COLUMN_COUNT, 9, true,
			    "DMAs that failed because they were disabled"},
	[RESULT_HELD_BACK] = {"held_back", NULL, NULL, COLUMN_COUNT, 9, true,
			      "page request groups that waited, or were smaller, for want of "
			      "page_requests"},
	[RESULT_EVICT_ASKED] = {"evict_asked", NULL, NULL, COLUMN_COUNT, 9, true,
				"pages that injections aimed at"},
	[RESULT_EVICTED] = {"evicted", NULL, NULL, COLUMN_COUNT, 9, true,
			    "pages evicted and proven absent"},
	[RESULT_EVICT_MISSED] =
		{"evict_missed", NULL, NULL, COLUMN_COUNT, 9, true,
		 "events that found nothing to evict until the next one was due: the "
		 "workload was done, or the pages of its next I/Os were gone already"},
	[RESULT_EVICT_PINNED] = {"evict_pinned", NULL, NULL, COLUMN_COUNT, 12, true,
				 "evictions that passed over a page, as a device keeps it"},
	[RESULT_PINNED] =
		{"pinned", NULL, NULL, COLUMN_COUNT, 8, true,
		 "pages that devices kept at once at most, each tenant's by itself: of several "
		 "the sum of peaks; evictions pass over them"},
	[RESULT_PINNED_MEAN] =
		{"pinned_mean", NULL, "percent", COLUMN_REAL, 11, true,
		 "what the protector kept pinned, in percent of the memory of all tenants: its mean over "
		 "the time from the first access to the end"},
	[RESULT_PINNED_MAX] = {"pinned_max", NULL, "percent", COLUMN_REAL, 10, true,
			       "and at most at once"},
	[RESULT_PINS] = {"pins", NULL, NULL, COLUMN_COUNT, 9, true,
			 "pages (of protector.page) that it pinned"},
	[RESULT_UNPINS] = {"unpins", NULL, NULL, COLUMN_COUNT, 9, true,
			   "and let go, those at the end of the run included"},
	[RESULT_PIN_REFUSED] =
		{"pin_refused", NULL, NULL, COLUMN_COUNT, 11, true,
		 "pins that were not carried out: memlock or memory_limit had no room for them, or too "
		 "many waited"},
	[RESULT_ACCESSES] = {"accesses", NULL, NULL, COLUMN_COUNT, 9, true,
			     "ranges of memory that I/Os touched, by the devices' account"},
	[RESULT_ACCESSES_LOST] = {"accesses_lost", NULL, NULL, COLUMN_COUNT, 13, true,
				  "of them those that the access log had no buffer for: neither "
				  "recorders nor the protector know of them"},
	[RESULT_LIMITED] = {"memory_limited", NULL, "bytes", COLUMN_COUNT, 14, true,
			    "memory_limit: what all tenants have of the host together"},
	[RESULT_IN_GROUP] =
		{"in_cgroup", NULL, NULL, COLUMN_COUNT, 9, true,
		 "1: a memory cgroup of its own holds the machine to it; 0: its reclaimer "
		 "alone does, over the guests' frames"},
	[RESULT_PRESENT] = {"present", NULL, "bytes", COLUMN_COUNT, 11, true,
			    "of it, what the guests held at the end, by the kernel's own count"},
	[RESULT_PRESENT_MOST] = {"present_most", NULL, "bytes", COLUMN_COUNT, 12, true,
				 "and at most, at any look of the reclaimer's"},
	[RESULT_RECLAIMED] = {"reclaimed", NULL, NULL, COLUMN_COUNT, 9, true,
			      "pages that it evicted to storage"},
	[RESULT_ROOM_WAITS] = {"room_waits", NULL, NULL, COLUMN_COUNT, 10, true,
			       "pages that had to wait for others to leave before they came"},
	[RESULT_INSTANCES] = {"instances", NULL, NULL, COLUMN_COUNT, 9, true,
			      "[kvstore]s and [ranks] that started"},
	[RESULT_INSTANCES_REFUSED] = {"instances_refused", NULL, NULL, COLUMN_COUNT, 17, true,
				      "and those that did not: what they would pin did not fit"},
	[RESULT_HITS] = {"hits", NULL, NULL, COLUMN_COUNT, 9, true,
			 "gets that found their key; one whose item is in storage is slow, but no "
			 "miss"},
	[RESULT_HIT_RATE] = {"hit_rate", NULL, NULL, COLUMN_REAL, 8, true, "of all gets, 0 to 1"},
	[RESULT_WORST_HIT_RATE] =
		{"worst_hit_rate", NULL, NULL, COLUMN_REAL, 14, true,
		 "the same before and after the shift of the working sets, of the store and the side "
		 "of it that had it worst"},
	[RESULT_HITS_PER_S] = {"hits_per_s", NULL, NULL, COLUMN_REAL, 10, true,
			       "hits per second of all stores together"},
	[RESULT_WORST_SHARE] =
		{"worst_share", NULL, NULL, COLUMN_REAL, 11, true,
		 "hits after the shift of the store that had fewest over those of the "
		 "one that had most"},
	[RESULT_TRANSITION] =
		{"transition", NULL, "ns", COLUMN_DURATION, 10, true,
		 "from the shift to the first 100 ms in which all stores together have 80% of the hits that "
		 "they have in the last quarter of the run"},
	[RESULT_FIRED] = {"fired", NULL, NULL, COLUMN_COUNT, 9, true,
			  "times that a delay, a lost or failed response, an overflow, a "
			  "duplicate or the loss of a frame was injected"},
	[RESULT_BLOCKED] =
		{"blocked", NULL, NULL, COLUMN_REAL, 7, false,
		 "share of the queues' time in which a fault of theirs was open, 0 to 1; of virtual "
		 "machines, whose boot is part of that time, if there is no workload"},
	[RESULT_OFF_TENANT] = {"off_tenant", NULL, NULL, COLUMN_COUNT, 10, true,
			       "handlers that ran on a CPU outside of their tenant's"},
	[RESULT_AT_MSI] = {"at_msi", NULL, NULL, COLUMN_COUNT, 8, true,
			   "page request groups handled on the CPU that their device interrupts"},
	[RESULT_OFF_MSI] = {"off_msi", NULL, NULL, COLUMN_COUNT, 8, true,
			    "groups given to another CPU because handler_backlog were there"},
	[RESULT_BEHIND_OTHERS] = {"behind_others", NULL, NULL, COLUMN_COUNT, 13, true,
				  "groups that found another tenant's with their handler"},
	[RESULT_ROUND_TRIP_BEST] = {"round_trip_best", NULL, "ns", COLUMN_DURATION, 9, true,
				    "mean round trip of the tenant that fared best"},
	[RESULT_LOOKUPS] = {"lookups", NULL, NULL, COLUMN_COUNT, 10, true,
			    "lookups that devices made: at least one for each DMA, of data or of "
			    "a queue's rings"},
	[RESULT_LOOKUP_P50] = {"lookup_p50", NULL, "ns", COLUMN_DURATION, 10, true,
			       "what one of them takes, lookup_delay and a reading of the clock "
			       "included; one in 64 is timed"},
	[RESULT_DEVTLB_HITS] = {"devtlb_hits", NULL, NULL, COLUMN_COUNT, 12, true,
				"pages that a DMA found in its device's DevTLB (lookup=ats)"},
	[RESULT_DEVTLB_MISSES] =
		{"devtlb_misses", NULL, NULL, COLUMN_COUNT, 13, true,
		 "pages that it did not find there: translation requests to the IOMMU"},
	[RESULT_IOTLB_HITS] = {"iotlb_hits", NULL, NULL, COLUMN_COUNT, 12, true,
			       "of these requests, those that the IOTLB answered (iotlb_entries)"},
	[RESULT_IOTLB_MISSES] = {"iotlb_misses", NULL, NULL, COLUMN_COUNT, 12, true,
				 "and those that it did not: walks of the page tables"},
	[RESULT_READ_ONLY] = {"read_only", NULL, NULL, COLUMN_COUNT, 9, true,
			      "DMAs that faulted for lack of the write permission"},
	[RESULT_UPGRADES] = {"upgrades", NULL, NULL, COLUMN_COUNT, 9, true,
			     "read-only pages that became writable by a fault"},
	[RESULT_INVALID] = {"invalid", NULL, NULL, COLUMN_COUNT, 9, true, "page responses INVALID"},
	[RESULT_HUGE] = {"huge", NULL, NULL, COLUMN_COUNT, 9, true,
			 "2 MiB entries that page tables got (page_size=2M)"},
	[RESULT_SPLITS] = {"splits", NULL, NULL, COLUMN_COUNT, 9, true,
			   "of them, those that were split into 4 KiB ones"},
	[RESULT_EMQ_COMMANDS] = {"emq_commands", NULL, NULL, COLUMN_COUNT, 12, true,
				 "commands that the event message queue carried to PA-BITMAPs"},
	[RESULT_EMQ_DEPTH_MAX] = {"emq_depth_max", NULL, NULL, COLUMN_COUNT, 13, true,
				  "most of them in its ring at once"},
	[RESULT_EMQ_FULL_WAITS] = {"emq_full_waits", NULL, NULL, COLUMN_COUNT, 14, true,
				   "of them, those that found the ring full and waited"},
	[RESULT_EMQ_P50] = {"emq_p50", NULL, "ns", COLUMN_DURATION, 9, true,
			    "invalidations: post to acknowledgement, as the host's thread sees it"},
	[RESULT_EMQ_P99] = {"emq_p99", NULL, "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_EMQ_MAX] = {"emq_max", NULL, "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_GOODPUT] =
		{"goodput", NULL, "bytes_per_s", COLUMN_REAL, 10, true,
		 "bytes per second that loads say they moved, of all together; of frames that are "
		 "made up, and of ranks' messages: delivered ones. Of several groups of ranks, the "
		 "sum of their rates, each over its own time"},
	[RESULT_MIN_GOODPUT] = {"min_goodput", NULL, "bytes_per_s", COLUMN_REAL, 11, true,
				"bytes per second that a NIC delivered in its slowest 100 ms, of "
				"the one that had it worst"},
	[RESULT_REQUESTS] = {"requests", NULL, NULL, COLUMN_COUNT, 9, true,
			     "requests that loads say were answered"},
	[RESULT_REQUESTS_PER_S] = {"requests_per_s", NULL, NULL, COLUMN_REAL, 14, true,
				   "the same per second, of all loads together"},
	[RESULT_REQUEST_P99] = {"request_p99", NULL, "ns", COLUMN_DURATION, 11, true,
				"their p99, of the load that had it worst"},
	[RESULT_FRAMES] = {"frames", NULL, NULL, COLUMN_COUNT, 9, true,
			   "frames that NICs took off the wire"},
	[RESULT_DELIVERED] = {"delivered", NULL, NULL, COLUMN_COUNT, 9, true,
			      "of them, those that their guests got"},
	[RESULT_LOST] = {"lost", NULL, NULL, COLUMN_COUNT, 7, true,
			 "frames on their way to a guest that were lost, whatever for"},
	[RESULT_LOST_FAULT] =
		{"lost_fault", NULL, NULL, COLUMN_COUNT, 10, true,
		 "of them: a page of their buffers or of the ring was absent, and asked for"},
	[RESULT_LOST_NO_BUFFER] =
		{"lost_no_buffer", NULL, NULL, COLUMN_COUNT, 14, true,
		 "the guest had posted no buffer, or none that may be asked for yet"},
	[RESULT_LOST_CACHE_FULL] = {"lost_cache_full", NULL, NULL, COLUMN_COUNT, 15, true,
				    "the cache of all rings was full (rx_policy=cache)"},
	[RESULT_LOST_INNOCENT] = {"lost_innocent", NULL, NULL, COLUMN_COUNT, 13, true,
				  "of them, those of rings that held none: others' faults had "
				  "filled it"},
	[RESULT_LOST_BACKUP_FULL] = {"lost_backup_full", NULL, NULL, COLUMN_COUNT, 16, true,
				     "the backup ring was full, or what it may hold for one ring "
				     "(rx_policy=backup)"},
	[RESULT_LOST_BEFORE_NIC] = {"lost_before_nic", NULL, NULL, COLUMN_COUNT, 15, true,
				    "the queue in front of the NIC was full: it was late. These "
				    "are none of `frames`"},
	[RESULT_LOST_WIRE] = {"lost_wire", NULL, NULL, COLUMN_COUNT, 9, true,
			      "injected: the wire lost them"},
	[RESULT_LOST_OVERLONG] = {"lost_overlong", NULL, NULL, COLUMN_COUNT, 13, true,
				  "no frames, or longer than the MTU allows"},
	[RESULT_HELD] = {"held", NULL, NULL, COLUMN_COUNT, 8, true,
			 "frames that had to wait for their buffers, each once"},
	[RESULT_HELD_NOW] = {"held_now", NULL, NULL, COLUMN_COUNT, 8, true,
			     "of them, those that still did at the end"},
	[RESULT_FRAME_ERRORS] =
		{"frame_errors", NULL, NULL, COLUMN_COUNT, 12, true,
		 "frames that could not be sent for a fault without an answer, that the guest's "
		 "driver was too late for or its network refused, and rings stopped by a descriptor "
		 "that makes no sense"},
	[RESULT_INTERRUPTS] = {"interrupts", NULL, NULL, COLUMN_COUNT, 10, true,
			       "interrupts by which NICs told their guests of frames"},
	[RESULT_STALLS] = {"stalls", NULL, NULL, COLUMN_COUNT, 7, true,
			   "times that a TCP flow had lost frames and not got them yet; at "
			   "the end it may still wait"},
	[RESULT_MAX_STALL] = {"max_stall", NULL, "ns", COLUMN_DURATION, 9, true,
			      "the longest: from the first lost frame until all that the flow "
			      "had lost had come, or the end"},
	[RESULT_TIME_TO_STEADY] =
		{"time_to_steady", NULL, "ns", COLUMN_DURATION, 14, true,
		 "from a NIC's first frame to the end of the first 100 ms of half a second in which "
		 "it delivers 80% of what it does in its best half second, of the one that took "
		 "longest"},
	[RESULT_RETRANSMITS] = {"retransmits", NULL, NULL, COLUMN_COUNT, 11, true,
				"TCP segments sent again, as both sides' kernels counted them"},
	[RESULT_TIMEOUTS] = {"timeouts", NULL, NULL, COLUMN_COUNT, 8, true,
			     "retransmission timeouts"},
	[RESULT_SPURIOUS_TIMEOUTS] = {"spurious_timeouts", NULL, NULL, COLUMN_COUNT, 17, true,
				      "of them, those of which the kernel found out later that "
				      "nothing had been lost (F-RTO, Eifel)"},
	[RESULT_PROBES] = {"probes", NULL, NULL, COLUMN_COUNT, 7, true,
			   "tail loss probes, those of new data included"},
	[RESULT_FAST] = {"fast", NULL, NULL, COLUMN_COUNT, 7, true,
			 "segments sent again on duplicate acknowledgements (fast retransmits)"},
	[RESULT_OPERATIONS] =
		{"operations", NULL, NULL, COLUMN_COUNT, 10, true,
		 "operations that ranks completed: messages of a stream, else one for each rank "
		 "that took part in a step of its pattern; and those of loads of verbs"},
	[RESULT_OPERATIONS_PER_S] = {"operations_per_s", NULL, NULL, COLUMN_REAL, 16, true,
				     "the same per second: the sum of the groups' rates, each over "
				     "its own time"},
	[RESULT_RNR] = {"rnr", NULL, NULL, COLUMN_COUNT, 7, true,
			"RNR NAKs that RDMA devices sent: a receiver's page was absent"},
	[RESULT_DROPPED] = {"dropped", NULL, NULL, COLUMN_COUNT, 8, true,
			    "packets that arrived at a queue pair and were not taken"},
	[RESULT_RESENT] = {"resent", NULL, NULL, COLUMN_COUNT, 8, true, "packets sent again"},
	[RESULT_WIRE_EFFICIENCY] =
		{"wire_efficiency", NULL, NULL, COLUMN_REAL, 15, true,
		 "bytes that landed once over all that both ends sent, headers, acknowledgements "
		 "and what was sent again included, 0 to 1; of NICs: payload that programs say was "
		 "received (iperf3, stores), or frames that are made up and were delivered"},
	[RESULT_SUPPRESSED] = {"suppressed", NULL, NULL, COLUMN_COUNT, 10, true,
			       "faults that RDMA devices did not report: one of their kind was on "
			       "its way"},
	[RESULT_PAUSED] = {"paused", NULL, "ns", COLUMN_DURATION, 9, true,
			   "time that send queues stood still for pages or RNR timers, summed"},
	[RESULT_PROTECTION] = {"protection", NULL, NULL, COLUMN_COUNT, 10, true,
			       "DMAs that RDMA devices refused for their key, domain, right or "
			       "bounds: nothing was touched"},
	[RESULT_CQ_OVERRUNS] = {"cq_overruns", NULL, NULL, COLUMN_COUNT, 11, true,
				"completions that found their queue full and were lost"},
	[RESULT_COMMANDS] = {"commands", NULL, NULL, COLUMN_COUNT, 9, true,
			     "commands of guests that RDMA devices carried out"},
	[RESULT_COMMAND_MEAN] = {"command_mean", NULL, "ns", COLUMN_DURATION, 12, true,
				 "what one of them took"},
	[RESULT_REGISTERED] = {"registered", NULL, NULL, COLUMN_COUNT, 10, true,
			       "pages of regions that guests had registered with an RDMA device "
			       "at once at most, the sum over devices, whose peaks may be at "
			       "different times"},
	[RESULT_MAPPED] = {"mapped", NULL, NULL, COLUMN_COUNT, 8, true,
			   "pages that an RDMA device's page table had at once at most, the sum "
			   "over devices, whose peaks may be at different times"},
	[RESULT_CACHE_HITS] = {"cache_hits", NULL, NULL, COLUMN_COUNT, 10, true,
			       "buffers that a pin-down cache had registered (memory=cache)"},
	[RESULT_CACHE_MISSES] = {"cache_misses", NULL, NULL, COLUMN_COUNT, 12, true,
				 "and those that it had to register"},
	[RESULT_COPIED] = {"copied", NULL, "bytes", COLUMN_COUNT, 12, true,
			   "bytes copied to and from bounce buffers (memory=copy)"},
	[RESULT_UNDO_MEAN] = {"undo_mean", NULL, "ns", COLUMN_DURATION, 9, true,
			      "of a load of verbs: what it takes to undo what its latency is of, a "
			      "region's deregistration or a queue pair's destruction"},
	[RESULT_UNDO_P50] = {"undo_p50", NULL, "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_UNDO_MIN] = {"undo_min", NULL, "ns", COLUMN_DURATION, 9, true, NULL},
	[RESULT_OVER_SLO] = {"over_slo", NULL, NULL, COLUMN_REAL, 9, true,
			     "of its operations those that took longer than its slo, 0 to 1"},
	[RESULT_REGIONS_REFUSED] =
		{"regions_refused", NULL, NULL, COLUMN_COUNT, 15, true,
		 "regions of loads of verbs that their host did not allow: a quota, "
		 "memlock, rights or a veto"},
	[RESULT_STOPPED_CALLS] = {"stopped_calls", NULL, NULL, COLUMN_COUNT, 13, true,
				  "clients that a system call ended while they polled "
				  "(no_syscalls=yes)"},
	[RESULT_DATA_KICKS] = {"data_kicks", NULL, NULL, COLUMN_COUNT, 10, true,
			       "exits of their active ends to the host while they measured: "
			       "hypercalls, forwarded posts included"},
	[RESULT_DATA_INJECTIONS] = {"data_injections", NULL, NULL, COLUMN_COUNT, 15, true,
				    "and interrupts that the host injected into them"},
	[RESULT_GUEST_PINNED] = {"guest_pinned", NULL, "bytes", COLUMN_COUNT, 12, true,
				 "VmPin of the active end's process as all was registered, of the "
				 "last load; without a process of its own the machine's"},
	[RESULT_MACHINE_PINNED] = {"machine_pinned", NULL, "bytes", COLUMN_COUNT, 14, true,
				   "VmPin of the machine's process at that time"},
	[RESULT_GUEST_RESIDENT] = {"guest_resident", NULL, "bytes", COLUMN_COUNT, 14, true,
				   "VmRSS of the one"},
	[RESULT_MACHINE_RESIDENT] = {"machine_resident", NULL, "bytes", COLUMN_COUNT, 16, true,
				     "VmRSS of the other"},
	[RESULT_LOAD_CPU] =
		{"load_cpu", NULL, "ns", COLUMN_DURATION, 9, true,
		 "CPU time of the clients of loads of verbs while they measured, kernel "
		 "included; `cpu` less that is devices, hosts and peers if these run in "
		 "the machine's process"},
	[RESULT_ENGINE_CPU] = {"engine_cpu", NULL, "ns", COLUMN_DURATION, 10, true,
			       "CPU time of the engines of the devices of loads of verbs"},
	[RESULT_WORK_POST_LEAST] =
		{"work_post_least", NULL, "ns", COLUMN_DURATION, 15, true,
		 "of devices with a mode the least from a work request's being written to its "
		 "doorbell's being seen,"},
	[RESULT_WORK_DEVICE_LEAST] =
		{"work_device_least", NULL, "ns", COLUMN_DURATION, 17, true,
		 "from there to its completion's being written, peer included,"},
	[RESULT_WORK_REAP_LEAST] = {"work_reap_least", NULL, "ns", COLUMN_DURATION, 15, true,
				    "and until the guest has taken that; each is of two who ran at "
				    "once, so their sum is a latency without waits for a CPU"},
	[RESULT_HYV_REGISTERED] =
		{"verbs_registered", NULL, "bytes", COLUMN_COUNT, 16, true,
		 "of devices with a mode, by their hosts: registered at once at most, queues "
		 "included, whole pages"},
	[RESULT_PINS_GUEST] = {"pins_guest", NULL, "bytes", COLUMN_COUNT, 10, true,
			       "likewise pinned by their guests,"},
	[RESULT_PINS_REMAP] = {"pins_remap", NULL, "bytes", COLUMN_COUNT, 10, true,
			       "by the host for the remapping,"},
	[RESULT_PINS_DRIVER] = {"pins_driver", NULL, "bytes", COLUMN_COUNT, 11, true,
				"and by the host's driver"},
	[RESULT_VERBS_REFUSED] = {"verbs_refused", NULL, NULL, COLUMN_COUNT, 13, true,
				  "verbs that the hosts refused: quota, rights, pins, mappings, "
				  "injected"},
	[RESULT_REMAPS] = {"remaps", NULL, NULL, COLUMN_COUNT, 8, true,
			   "memory of guests that was remapped for the host's driver"},
	[RESULT_REMAPS_SKIPPED] = {"remaps_skipped", NULL, NULL, COLUMN_COUNT, 14, true,
				   "and what needed none: one page, or skip_contiguous"},
	[RESULT_PINS_UNEQUAL] =
		{"pins_unequal", NULL, NULL, COLUMN_COUNT, 12, true,
		 "times that what was pinned in a role was not what was registered: "
		 "0, or there is a bug"},
#define VM_RESULT(id, name, meaning) \
	[RESULT_##id] = {name, NULL, NULL, COLUMN_COUNT, 9, true, meaning},
#include "injectors/job/vm_results.def"
#undef VM_RESULT
#define GUEST_KEY(id, key, name, unit, type, how, factor, meaning) \
	[RESULT_GUEST + GUEST_##id] = {"guest_" name, NULL, unit, type, 9, true, meaning},
#include "injectors/job/guest_keys.def"
#undef GUEST_KEY
	[RESULT_ERRORS] =
		{"errors", NULL, NULL, COLUMN_COUNT, 6, true,
		 "I/Os and messages that failed; they are a result, not an error of the run"},
	[RESULT_MISMATCHES] =
		{"mismatches", NULL, NULL, COLUMN_COUNT, 10, true,
		 "reads that returned other data than was written, and frames that were damaged, "
		 "doubled or out of order (verify=yes)"},
	[RESULT_VIOLATIONS] =
		{"violations", NULL, NULL, COLUMN_COUNT, 10, true,
		 "broken invariants of the machine: a DMA to an absent page, a lookup "
		 "ahead of its IOPT entry"},
	[RESULT_MOVED] =
		{"moved", NULL, "bytes", COLUMN_COUNT, 12, true,
		 "bytes of ranks' messages that arrived, and payload that programs say was "
		 "received (iperf3)"},
	[RESULT_LANDED] =
		{"landed", NULL, "bytes", COLUMN_COUNT, 12, true,
		 "payload that landed at RDMA devices, each byte once, as they have counted it"},
	[RESULT_CPU] = {"cpu", NULL, "ns", COLUMN_DURATION, 9, true,
			"CPU time that the machine's process took while loads ran, all of its "
			"threads together: devices, drivers, ranks, fault handlers; not programs"},
	[RESULT_GOODPUT_PER_CPU] =
		{"goodput_per_cpu", NULL, "bytes_per_s", COLUMN_REAL, 15, true,
		 "of ranks, `moved` per second of that CPU time: about the same beside neighbours, "
		 "which goodput is not"},
	[RESULT_PID] = {"pid", NULL, NULL, COLUMN_COUNT, 8, true,
			"process of this machine, as recordings name it"},
};

_Static_assert(RESULT_BEYOND == 20, "the texts below say so");

const struct job_columns job_columns = {
	.columns = result_columns,
	.count = RESULT_COLUMNS,
	.heading = "columns of the table and names in [expect]; times in ns. A percentile needs 20 "
		   "samples beyond it.",
	.unknown = "too few samples (a percentile needs 20 beyond it) or a run that failed; run it "
		   "for longer",
	.help = "`faultline-inject help results`",
};

void result_clear(struct result *result)
{
	for (int i = 0; i < RESULT_COLUMNS; i++)
		result->values[i] = NAN;
}
