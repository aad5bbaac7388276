# SPDX-License-Identifier: GPL-2.0
"""What suite `extension` adds of lib/capture: a kernel path, which is a file, beside its BPF program, and a line."""

FILES = {
    # Processes that end, which a recording of a command has at least one of.
    "bpf/toy.bpf.c": r"""// SPDX-License-Identifier: GPL-2.0
#include "bpf/kernel.h"

#include "bpf/emit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_process_exit")
int BPF_PROG(toy_rings)
{
	struct probe_counter *counter = probe_hit(PROBE_TOY_RING);
	struct event *event;

	if (!counter || !kind_wanted(EVENT_TOY_RING))
		return 0;
	event = event_reserve(counter, EVENT_TOY_RING);
	if (!event)
		return 0;
	event->code = 7;
	event_submit(counter, event);
	return 0;
}

SEC("fentry/no_kernel_has_this")
int BPF_PROG(toy_squeaks)
{
	probe_hit(PROBE_TOY_SQUEAK);
	return 0;
}
""",
    "lib/capture/paths/toy.c": r"""// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/capture_private.h"
#include "lib/capture/paths/rows.h"
#include "bpf/toy.skel.h"

static DEFINE_OBJECT(toy);

static const struct probe_row rows[] = {
	{PROBE_TOY_RING, "toy_ring", &toy_object, EVENT_TOY_RING,
	 METHODS(TRACEPOINT_AS(sched_process_exit, "toy_rings")), .without = "whether it rang is not known",
	 .unaccused = "nothing need ring"},
	{PROBE_TOY_SQUEAK, "toy_squeak", &toy_object, EVENT_TOY_RING,
	 METHODS(FUNCTION(no_kernel_has_this, "toy_squeaks")), .without = "whether it squeaked is not known",
	 .unaccused = "nothing need squeak"},
};

/* Once more at the end, by hand. */
static int ring_by_hand(struct capture *c, __u64 now_ns)
{
	const struct event event = {.time_ns = now_ns, .kind = EVENT_TOY_RING, .device = DEVICE_NONE,
				    .pasid = PASID_NONE, .queue = QUEUE_NONE, .code = 9};

	return capture_kind_asked(&c->config, EVENT_TOY_RING) ? merge_push(c->merge, source_local(c), &event) : 0;
}

const struct path toy_path = {
	.name = "toys",
	.needs = "a toy shop",
	ROWS(rows),
	.steps[STEP_RELEASED] = ring_by_hand,
};
""",
}
LINES = {"bpf/paths.def": "PATH(TOY, toy, PROBE(TOY_RING) PROBE(TOY_SQUEAK))\n"}


def add_to(tree):
    for path, text in FILES.items():
        (tree / path).write_text(text, encoding="utf-8")
    for path, line in LINES.items():
        with open(tree / path, "a", encoding="utf-8") as file:
            file.write(line)


def see_in_doctor(tree, run, check):
    def doctor(*words):
        return run(tree, "./faultline", "doctor", *words)[1]

    paths = doctor("--csv=-", "--table", "paths")
    check("doctor has a line for the path: its state, its probes, what it lacks and what would change that",
          "\ntoys,partly,2,1,0,this kernel has no no_kernel_has_this,a toy shop\n" in paths, paths)
    probes = doctor("--csv=-", "--table", "probes")
    check("doctor lists its probes", "\ntoy_ring,ok,tp_btf sched_process_exit," in probes and
          "\ntoy_squeak,off,function no_kernel_has_this," in probes, probes)


def see_in_capture(tree, run, check):
    """A command ends in each recording, and user space has its part."""
    def record(kind):
        status, _, said = run(tree, "./faultline", "record", "-q", "-f", "--kind", kind, "-o", "path.flt", "--", "true")
        check(f"record takes --kind {kind}", status == 0, said)

    def table(name):
        return run(tree, "./faultline", "report", "path.flt", "--csv=-", "--table", name)[1]

    record("toy_ring")
    told = [int(row.split(",")[-1]) for row in table("events").split("\n") if row.startswith("toy rang,")]
    check("its BPF program and user space have told of it", sum(told) >= 2, table("events"))
    check("the recording says which of its probes were on", "\ntoy_ring,on," in table("probes") and
          "\ntoy_squeak,off," in table("probes"), table("probes"))
    record("cpu_fault")
    check("its probes are left out where others' kinds are asked for", "\ntoy_ring,not asked," in table("probes"),
          table("probes"))
