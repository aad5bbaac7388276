// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/oracle.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"

#define READ 256
#define KIB  1024

struct oracle {
	struct model_packet *packets;
	size_t count, room, at;
};

/* Last use of every page met, going backwards: open addressing, doubled at half full. */
struct uses {
	struct {
		__u64 page; /* address, size and domain; 0: free */
		__u64 next;
		__u16 domain;
	} * slots;
	size_t size, used;
};

static size_t uses_place(const struct uses *uses, __u64 page, __u16 domain)
{
	/* Pages differ in middle bits: 2^64 / golden ratio spreads them over the upper ones. */
	size_t at =
		((page + ((__u64)domain << 48)) * 0x9e3779b97f4a7c15ull) >> 20 & (uses->size - 1);

	while (uses->slots[at].page &&
	       (uses->slots[at].page != page || uses->slots[at].domain != domain))
		at = (at + 1) & (uses->size - 1);
	return at;
}

static int uses_grow(struct uses *uses)
{
	struct uses more = {.size = uses->size ? uses->size * 2 : 4096, .used = uses->used};

	more.slots = calloc(more.size, sizeof(more.slots[0]));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < uses->size; i++)
		if (uses->slots[i].page)
			more.slots[uses_place(&more, uses->slots[i].page, uses->slots[i].domain)] =
				uses->slots[i];
	free(uses->slots);
	*uses = more;
	return 0;
}

static int note_use(struct uses *uses, struct model_request *request, __u16 domain, __u64 number)
{
	__u64 page =
		request->iova >> request->page_shift << request->page_shift | request->page_shift;
	size_t at;

	if (2 * uses->used >= uses->size && uses_grow(uses))
		return -ENOMEM;
	at = uses_place(uses, page, domain);
	request->next_use = uses->slots[at].page ? uses->slots[at].next : CACHE_NEVER;
	uses->used += !uses->slots[at].page;
	uses->slots[at].page = page;
	uses->slots[at].domain = domain;
	uses->slots[at].next = number;
	return 0;
}

static int look_back(struct oracle *o)
{
	struct uses uses = {0};
	__u64 number = 0;
	int error = 0;

	for (size_t i = 0; i < o->count; i++)
		number += o->packets[i].count;
	for (size_t i = o->count; !error && i-- > 0;)
		for (__u32 r = o->packets[i].count; !error && r-- > 0;)
			error = note_use(&uses, &o->packets[i].requests[r], o->packets[i].domain,
					 --number);
	free(uses.slots);
	return error;
}

/* What the machine can give without pushing others out; all there is if it does not say. */
static __u64 available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = UINT64_MAX / KIB;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib * KIB;
}

/* Memory that is promised but not there would end in a killed process: half of the rest must do. */
static int grow_packets(struct oracle *o)
{
	if (o->room * sizeof(*o->packets) > available_bytes() / 2 ||
	    !array_grow(&o->packets, &o->room, o->count + READ, sizeof(*o->packets), ARRAY_PLAIN))
		return -ENOMEM;
	return 0;
}

static int take_in(struct oracle *o, model_source_fn source, void *self)
{
	int count;

	do {
		if (o->room - o->count < READ && grow_packets(o))
			return -ENOMEM;
		count = source(self, &o->packets[o->count], READ);
		if (count < 0)
			return count;
		o->count += (size_t)count;
	} while (count);
	return 0;
}

int oracle_create(struct oracle **oracle, model_source_fn source, void *self)
{
	struct oracle *o = calloc(1, sizeof(*o));
	int error = o ? take_in(o, source, self) : -ENOMEM;

	if (!error)
		error = look_back(o);
	if (error) {
		size_t count = o ? o->count : 0;

		oracle_destroy(o);
		return error == -ENOMEM ? failed(error,
						 "no memory for the oracle after %zu packets: it "
						 "keeps the whole trace; set "
						 "trace.packets to fewer",
						 count)
					: error;
	}
	*oracle = o;
	return 0;
}

int oracle_next(void *self, struct model_packet *packets, int room)
{
	struct oracle *o = self;
	size_t count = o->count - o->at;

	if (count > (size_t)room)
		count = (size_t)room;
	memcpy(packets, &o->packets[o->at], count * sizeof(packets[0]));
	o->at += count;
	return (int)count;
}

void oracle_destroy(struct oracle *o)
{
	if (!o)
		return;
	free(o->packets);
	free(o);
}
