// SPDX-License-Identifier: GPL-2.0
/*
 * Who looks whether something of an end's has gone into error by itself: a completion that is lost by that would be waited for for
 * ever. It looks now and then, and never sleeps at the device's descriptors, so that it changes nothing of what is measured.
 */
#include <errno.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/fail.h"

#define LOOK_NS (20 * NSEC_PER_MSEC)

static void say_failure(struct load_end *end, const struct verbs_failure *failure)
{
	if (failure->what == VERBS_QUEUE_FAILED)
		failed(-EOVERFLOW,
		       "%s: a completion found completion queue %u full (or injection "
		       "cq_overrun said so): it is lost, and the queue and its pairs are in error",
		       load_end_name(end), failure->number);
	else
		failed(-EIO, "%s: queue pair %u has gone into error, and no completion says so",
		       load_end_name(end), failure->number);
	load_share_fail(end->share, -EIO, failure_text());
}

static void *watch(void *argument)
{
	struct load_end *end = argument;
	struct verbs_failure failure;

	while (!doorbell_count(&end->watched)) {
		if (!verbs_get_failure(end->place->device, &failure)) {
			say_failure(end, &failure);
			break;
		}
		(void)doorbell_wait(&end->watched, 0, monotonic_ns() + LOOK_NS);
	}
	return NULL;
}

int load_watch_begin(struct load_end *end)
{
	int error = thread_start(&end->watcher, NULL, watch, end, "verbs-watch%d", end->index);

	end->watches = !error;
	return error;
}

void load_watch_end(struct load_end *end)
{
	if (!end->watches)
		return;
	doorbell_ring(&end->watched);
	pthread_join(end->watcher, NULL);
	end->watches = false;
}
