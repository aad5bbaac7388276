// SPDX-License-Identifier: GPL-2.0
/* What programs say of themselves, and the kernels in whose networks they run of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/job/guest_programs.h"
#include "injectors/job/result_private.h"
#include "injectors/net/quiet.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* A last segment that is lost is sent again after 200 ms, then 400, 800 and 1600. */
#define QUIET_NS (4 * NSEC_PER_SEC)

/* Programs leave connections behind whose last segments their kernels still see to. */
static int await_networks(const struct result_input *input)
{
	__u64 begin = monotonic_ns();
	int err = 0;

	for (__u32 d = 0; err >= 0 && d < input->config->device_count; d++) {
		const struct network *network = machine_network(input->machine, d);
		__u64 passed = monotonic_ns() - begin;

		if (network)
			err = network_await_quiet(network,
						  passed < QUIET_NS ? QUIET_NS - passed : 0);
	}
	return err < 0 ? err : 0;
}

int result_count_networks(struct result_input *input)
{
	struct network_sums *sums = &input->networks;
	int waited = await_networks(input);

	if (waited)
		return waited;
	for (__u32 d = 0; d < input->config->device_count; d++) {
		const struct network *network = machine_network(input->machine, d);

		for (int side = 0; network && side < NETWORK_SIDES; side++) {
			struct network_counters counters;
			int err = network_count(network, side, &counters);

			if (err)
				return err;
			sums->retransmits += counters.retransmits;
			sums->timeouts += counters.timeouts;
			sums->probes += counters.probes;
			sums->fast += counters.fast_retransmits;
			sums->spurious_timeouts += counters.spurious_timeouts;
			if (side == NETWORK_GUEST)
				sums->guest_dropped += counters.link.tx_dropped;
		}
		sums->count += network != NULL;
	}
	return 0;
}

static void add_load(double *v, const struct program_result *said)
{
	result_add(&v[RESULT_GOODPUT], said->goodput);
	result_add(&v[RESULT_MOVED], said->bytes);
	result_add(&v[RESULT_REQUESTS], said->requests);
	result_add(&v[RESULT_REQUESTS_PER_S], said->requests_per_s);
	v[RESULT_REQUEST_P99] = fmax(v[RESULT_REQUEST_P99], said->request_p99_ns);
}

/* What cannot be read is not known, and told once. Returns the payload that it has moved, NAN: not known. */
static double read_load(double *v, const struct result_input *input, __u32 index,
			const struct plan_program *planned)
{
	struct program_result said = {.bytes = NAN};
	size_t size = 0;
	char *text = programs_output(input->programs, index, &size);

	if (text && !program_result_parse(planned->format, text, size, &said))
		add_load(v, &said);
	else if (!*input->notes->unread)
		snprintf(input->notes->unread, sizeof(input->notes->unread), "%s: %s",
			 planned->config.name, failure_text());
	free(text);
	return said.bytes;
}

void result_fill_programs(struct result *result, const struct result_input *input,
			  struct result_wires *wires)
{
	double *v = result->values;
	struct load_outcome load;
	__u32 index = 0;
	double bytes;

	v[RESULT_SECONDS] = fmax(v[RESULT_SECONDS], guest_programs_seconds(input->guests));
	while (input->programs && programs_outcome(input->programs, &index, &load)) {
		v[RESULT_SECONDS] =
			fmax(v[RESULT_SECONDS], (double)(load.end_ns - load.begin_ns) / 1e9);
		bytes = load.planned->format == RESULT_NONE
				? NAN
				: read_load(v, input, index, load.planned);
		result_add(&wires->useful, bytes);
		wires->unknown |= isnan(bytes);
	}
}
