# SPDX-License-Identifier: GPL-2.0
"""What suite `extension` adds of injectors/emu: a model of device, which is a folder with its driver, and a line."""

FILES = {
    "injectors/emu/devices/toy/toy.c": r"""// SPDX-License-Identifier: GPL-2.0
/* A device that keeps the first pages of its data, and whose guest looks at them for a while. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/machine.h"
#include "injectors/emu/pins.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

struct toy_settings {
	__u64 nap_ns;
	__u32 kept;
	char tune[24];
};

struct toy_guest {
	struct driver_setup setup;
	__u64 end_ns;
};

static int toy_start(void **device, struct port *port, const struct device_setup *setup)
{
	const struct toy_settings *settings = setup->settings;

	(void)port;
	*device = malloc(1);
	if (!*device)
		return failed(-ENOMEM, "no memory for a toy");
	return machine_pin(setup->machine, setup->index, setup->channel->data_address,
			   settings->kept * PAGE_BYTES, true);
}

static void toy_stop(void *device)
{
	free(device);
}

static int toy_check(const struct device_check *check)
{
	const struct toy_settings *settings = (const void *)check->device->settings.bytes;

	if (settings->kept * PAGE_BYTES <= check->bytes / 2)
		return 0;
	return failed(-EBADMSG, "%s: kept=%u: accepted: half of its %llu bytes", check->where,
		      settings->kept, check->bytes);
}

static int guest_of_toy(void **driver, const struct driver_setup *setup)
{
	struct toy_guest *guest = calloc(1, sizeof(*guest));

	*driver = guest;
	if (!guest)
		return failed(-ENOMEM, "no memory for a toy's guest");
	guest->setup = *setup;
	return 0;
}

static int guest_begins(void *driver)
{
	struct toy_guest *guest = driver;
	const struct toy_settings *settings = (const void *)guest->setup.device->settings.bytes;

	guest->end_ns = monotonic_ns() + settings->nap_ns;
	return 0;
}

static int guest_naps(void *driver, __u64 timeout_ns)
{
	const struct toy_guest *guest = driver;
	__u64 until = monotonic_ns() + timeout_ns;

	sleep_until(until < guest->end_ns ? until : guest->end_ns);
	return monotonic_ns() < guest->end_ns ? -ETIMEDOUT : 0;
}

static void guest_ends(void *driver)
{
	(void)driver;
}

/* One that is kept. */
static long guest_wants(void *driver, __u64 *pages, __u32 limit, __u64 wait_ns)
{
	const struct toy_guest *guest = driver;

	(void)wait_ns;
	if (limit)
		pages[0] = guest->setup.channel->data_address;
	return limit > 0;
}

static const struct device_driver toy_driver = {
	.create = guest_of_toy,
	.start = guest_begins,
	.wait = guest_naps,
	.stop = guest_ends,
	.destroy = free,
	.next_pages = guest_wants,
	.send_next = guest_ends,
};

#define SETTING(member) DEVICE_SETTING(struct toy_settings, member)

static const struct option_row toy_rows[] = {
	{"device", "nap", OPTION_TIME, SETTING(nap_ns), 1e6, 1e9, "100ms", .meaning = "how long its guest looks"},
	{"device", "kept", OPTION_COUNT, SETTING(kept), 1, 100000, "3", .meaning = "pages that the toy keeps"},
	{"device", "tune", OPTION_TEXT, SETTING(tune), .otherwise = "", .meaning = "what it plays, by name",
	 .needs = {{"kept", NULL}}},
};

const struct device_class toy_class = {
	.name = "toy",
	.meaning = "keeps pages",
	.rows = toy_rows,
	.row_count = sizeof(toy_rows) / sizeof(toy_rows[0]),
	.settings_bytes = DEVICE_SETTINGS(struct toy_settings),
	.depth_max = 4096,
	.data_align = 1,
	.check = toy_check,
	.start = toy_start,
	.stop = toy_stop,
	.driver = &toy_driver,
};
""",
}
LINES = {"injectors/emu/device_classes.def": "DEVICE_CLASS(toy)\n"}
EVICT = "[inject e]\naction = evict\nrate = 200\nduration = 1s\n"
TENANT = "[tenant vm]\nmemory = 8M\n"
TOY = "[device t]\nmodel = toy\n"
DISK = "[device d]\n[workload w]\ndevice = d\ncount = 101\n"


def add_to(tree):
    for path, text in FILES.items():
        (tree / path).parent.mkdir(exist_ok=True)
        (tree / path).write_text(text, encoding="utf-8")
    for path, line in LINES.items():
        with open(tree / path, "a", encoding="utf-8") as file:
            file.write(line)


def see_in_help(tree, run, check):
    _, text, _ = run(tree, "./faultline-inject", "help", "device")
    text = " ".join(text.split())
    check("help has the model", "; toy: keeps pages" in text, text)
    check("help has its keys, with what they need", "device.nap how long" in text and
          "only with model=toy and kept above 0" in text, text)
    check("help has the deepest queue that any model takes", "2 to 4096" in text, text)


def see_in_refusals(inject, check):
    def refused(name, text, *words):
        status, out, said = inject("check", text)
        check(name, status == 3 and all(word in said for word in words), out + said)

    refused("a workload on it is refused, by its line and the models that take one", TOY + "[workload w]\ncount = 1\n",
            "toy.ini:3: [workload w]", "model=toy", "accepted: devices with model=block or accel")
    refused("its keys are refused with other models", TOY + DISK.replace("[device d]", "[device d]\nnap = 5ms"),
            "toy.ini:4", "nap=5ms", "accepted: with model=toy")
    refused("others' keys are refused with it", TOY + "medium_latency = 1ms\n", "toy.ini:3", "accepted: with model=block")
    refused("its own check is asked", TOY + "kept = 10000\n", "toy.ini:1: kept=10000: accepted: half")
    refused("another model has its own depth", "[device d]\nqueue_depth = 2048\n[workload w]\ncount = 1\n",
            "toy.ini:1", "queue_depth=2048", "at most 1024 with model=block")
    refused("without a workload others have nothing to do", "[device d]\n", "has no [workload NAME]")


def see_in_jobs(tree, run, check):
    def inject(verb, text, *words):
        (tree / "toy.ini").write_text(text, encoding="utf-8")
        return run(tree, "./faultline-inject", verb, "toy.ini", *words)

    see_in_help(tree, run, check)
    see_in_refusals(inject, check)
    # For as long as its guest looks; queues as deep as no other's.
    status, out, said = inject("run", TENANT + TOY + "nap = 300ms\nqueue_depth = 4096\n" + EVICT, "--csv=-")
    rows = [line.split(",") for line in out.split("\n") if "," in line]
    result = dict(zip(rows[0], rows[1])) if len(rows) > 1 else {}
    check("it runs without a workload", status == 0, out + said)
    check("its pages are pinned", result.get("pinned") == "3", out + said)
    check("evictions pass over them: neither asked for nor missed", result.get("evict_asked") == "0" and
          result.get("evict_missed") == "0", out + said)
    status, out, said = inject("run", TENANT + TOY + DISK, "--csv=-")
    check("it runs beside one that has a workload", status == 0 and ",101," in out, out + said)
