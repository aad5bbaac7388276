// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/generator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/nic/generated_frame.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

_Static_assert(GENERATED_HEAD <= GENERATED_LEAST, "the least frame has room for its number");

struct generator {
	struct traffic_config traffic;
	struct generated_template template;
	struct random random;
	__u64 weights;
	__u64 made;
	struct generated next;
	unsigned char *whole; /* room for a frame that is cut */
};

int generator_create(struct generator **generator, const struct traffic_config *traffic)
{
	struct generator *new = calloc(1, sizeof(*new));
	__u64 longest = 0;

	for (__u32 i = 0; i < traffic->size_count; i++)
		longest = traffic->sizes[i] > longest ? traffic->sizes[i] : longest;
	if (new)
		new->whole = malloc(longest);
	if (!new || !new->whole) {
		free(new);
		return failed(-ENOMEM, "no memory for traffic %s", traffic->name);
	}
	new->traffic = *traffic;
	new->random.state = traffic->seed;
	generated_init(&new->template, traffic->seed);
	for (__u32 i = 0; i < traffic->size_count; i++)
		new->weights += traffic->size_weights[i];
	*generator = new;
	return 0;
}

void generator_destroy(struct generator *generator)
{
	if (generator)
		free(generator->whole);
	free(generator);
}

__u64 generator_due(const struct generator *generator, __u64 start_ns, __u64 now_ns)
{
	const struct traffic_config *traffic = &generator->traffic;
	__u64 due = 0;

	if (traffic->count && generator->made >= traffic->count)
		return ~0ull;
	if (traffic->rate > 0)
		due = start_ns + (__u64)((double)generator->made * NSEC_PER_SEC / traffic->rate);
	if (traffic->duration_ns &&
	    (due > now_ns ? due : now_ns) >= start_ns + traffic->duration_ns)
		return ~0ull;
	return due > now_ns ? due : 0;
}

static __u32 pick_size(struct generator *generator)
{
	const struct traffic_config *traffic = &generator->traffic;
	__u32 i = 0;
	__u64 pick;

	if (traffic->size_count == 1)
		return (__u32)traffic->sizes[0];
	pick = random_below(&generator->random, generator->weights);
	for (; pick >= traffic->size_weights[i]; i++)
		pick -= traffic->size_weights[i];
	return (__u32)traffic->sizes[i];
}

__u32 generator_next(struct generator *generator, void *frame, size_t room)
{
	struct generated this = generator->next;

	this.length = pick_size(generator);
	generator->made++;
	if (++generator->next.flow == generator->traffic.flows) {
		generator->next.flow = 0;
		generator->next.number++;
	}
	if (this.length <= room) {
		generated_make(&generator->template, &this, frame);
	} else {
		generated_make(&generator->template, &this, generator->whole);
		memcpy(frame, generator->whole, room);
	}
	return this.length;
}

bool generated_number(const void *frame, size_t length, __u64 *number)
{
	struct generated what;

	if (!generated_read(frame, length, &what))
		return false;
	*number = what.number;
	return true;
}
