// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/nic/generated_frame.h"
#include "injectors/emu/nic/generator.h"
#include "lib/base/fail.h"

#define WORD_BITS 64

/* Of the window's numbers, those that have come: at their own place modulo the window. */
struct verified_flow {
	__u64 next;
	__u64 come[VERIFIER_WINDOW / WORD_BITS];
};

struct verifier {
	struct generated_template template;
	__u32 flows;
	__u64 missing;
	struct verified_flow flow[];
};

int verifier_create(struct verifier **verifier, const struct traffic_config *traffic)
{
	struct verifier *new = calloc(1, sizeof(*new) + traffic->flows * sizeof(new->flow[0]));

	if (!new)
		return failed(-ENOMEM, "no memory for %u flows", traffic->flows);
	generated_init(&new->template, traffic->seed);
	new->flows = traffic->flows;
	*verifier = new;
	return 0;
}

void verifier_destroy(struct verifier *verifier)
{
	free(verifier);
}

static __u64 *come_word(struct verified_flow *flow, __u64 number)
{
	return &flow->come[number % VERIFIER_WINDOW / WORD_BITS];
}

static __u64 come_bit(__u64 number)
{
	return 1ull << number % WORD_BITS;
}

/* One from before the next expected. */
static enum frame_verdict check_late(struct verifier *verifier, struct verified_flow *flow,
				     __u64 number)
{
	__u64 *word = come_word(flow, number), bit = come_bit(number);

	if (flow->next - number > VERIFIER_WINDOW || *word & bit)
		return FRAME_TWICE;
	*word |= bit;
	verifier->missing--;
	return FRAME_LATE;
}

enum frame_verdict verifier_check(struct verifier *verifier, const void *frame, size_t length)
{
	struct verified_flow *flow;
	struct generated what;
	__u64 gap;

	if (!generated_read(frame, length, &what) || what.flow >= verifier->flows ||
	    !generated_matches(&verifier->template, &what, frame))
		return FRAME_DAMAGED;
	flow = &verifier->flow[what.flow];
	if (what.number < flow->next)
		return check_late(verifier, flow, what.number);
	gap = what.number - flow->next;
	for (__u64 i = gap < VERIFIER_WINDOW ? gap : VERIFIER_WINDOW; i; i--)
		*come_word(flow, what.number - i) &= ~come_bit(what.number - i);
	*come_word(flow, what.number) |= come_bit(what.number);
	flow->next = what.number + 1;
	verifier->missing += gap;
	return gap ? FRAME_AFTER_GAP : FRAME_GOOD;
}

__u64 verifier_missing(const struct verifier *verifier)
{
	return verifier->missing;
}
