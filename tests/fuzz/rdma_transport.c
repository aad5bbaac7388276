// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes a queue pair of the transport: any packets from a hostile wire, work requests of a hostile
 * guest, answers about memory and times, in any order. It may touch memory as its guest, or what was
 * checked, allows alone; each request completes once and in order; packets are counted once.
 * `rdma_transport --seeds DIR` writes first inputs.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/rdma/fault_policy.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"

#define DEPTH	16
#define CHECKED 64 /* ranges that are remembered */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed {
	struct bytes *in;
	struct queue_pair *pair;
	__u32 mtu;
	__u64 posted[2], fetched[2], completed[2]; /* send and receive queue */
	bool signaled[DEPTH];			   /* of what is under way */
	struct verbs_sge checked[CHECKED];
	__u32 checks;
	__u64 now_ns, tokens;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool was_checked(const struct fuzzed *fuzzed, const struct verbs_sge *piece)
{
	for (__u32 at = 0; at < CHECKED && at < fuzzed->checks; at++)
		if (fuzzed->checked[at].address == piece->address &&
		    fuzzed->checked[at].length == piece->length &&
		    fuzzed->checked[at].key == piece->key)
			return true;
	return false;
}

static int moved(struct fuzzed *fuzzed, const struct rdma_transfer *transfer, __u32 bytes)
{
	static const int answers[] = {0, 0, 0, 0, 0, -EAGAIN, -EAGAIN, -EIO, -EACCES};
	__u64 total = 0;

	must(transfer->pieces <= VERBS_SGE_MAX && bytes && bytes <= fuzzed->mtu);
	for (__u32 i = 0; i < transfer->pieces; i++)
		total += transfer->piece[i].length;
	must(transfer->total == total && transfer->offset + bytes <= total);
	must(!transfer->remote || was_checked(fuzzed, transfer->piece));
	return answers[take_below(fuzzed->in, sizeof(answers) / sizeof(answers[0]))];
}

static int gather(void *device, struct queue_pair *pair, const struct rdma_transfer *from, void *to,
		  __u32 bytes)
{
	(void)pair;
	must(from->side == RDMA_INITIATOR_READS || from->side == RDMA_RESPONDER_READS);
	memset(to, 7, bytes);
	return moved(device, from, bytes);
}

static int scatter(void *device, struct queue_pair *pair, const struct rdma_transfer *to,
		   const void *from, __u32 bytes)
{
	static unsigned char sink[RDMA_MTU_MAX];

	(void)pair;
	must(to->side == RDMA_INITIATOR_WRITES || to->side == RDMA_RESPONDER_WRITES);
	must(bytes <= sizeof(sink));
	memcpy(sink, from, bytes);
	return moved(device, to, bytes);
}

static int check(void *device, struct queue_pair *pair, const struct rdma_transfer *range)
{
	struct fuzzed *fuzzed = device;

	(void)pair;
	must(range->remote && range->pieces == 1);
	if (!take_below(fuzzed->in, 16))
		return -EACCES;
	if (!was_checked(fuzzed, range->piece))
		fuzzed->checked[fuzzed->checks++ % CHECKED] = range->piece[0];
	return 0;
}

static __u32 take_length(struct fuzzed *fuzzed)
{
	switch (take_below(fuzzed->in, 8)) {
	case 0:
		return (__u32)take_number(fuzzed->in);
	case 1:
		return 0;
	default:
		return take_below(fuzzed->in, 5) * fuzzed->mtu + take_byte(fuzzed->in) % 4;
	}
}

static bool next_send(void *device, struct queue_pair *pair, struct verbs_send *send)
{
	struct fuzzed *fuzzed = device;

	(void)pair;
	if (fuzzed->fetched[0] == fuzzed->posted[0])
		return false;
	*send = (struct verbs_send){
		.id = fuzzed->fetched[0]++,
		.opcode = take_byte(fuzzed->in) % 16 ? take_byte(fuzzed->in) % 3 : 200,
		.flags = take_byte(fuzzed->in) & (VERBS_SEND_SIGNALED | VERBS_SEND_FENCE),
		.pieces = take_byte(fuzzed->in) % 16 ? take_byte(fuzzed->in) % 3 : 255,
	};
	fuzzed->signaled[send->id % DEPTH] = send->flags & VERBS_SEND_SIGNALED;
	for (int i = 0; i < 3; i++)
		send->piece[i].length = take_length(fuzzed);
	return true;
}

static bool next_receive(void *device, struct queue_pair *pair, struct verbs_receive *receive)
{
	struct fuzzed *fuzzed = device;

	(void)pair;
	if (fuzzed->fetched[1] == fuzzed->posted[1])
		return false;
	*receive = (struct verbs_receive){.id = fuzzed->fetched[1]++};
	receive->pieces = take_byte(fuzzed->in) % 16 ? take_byte(fuzzed->in) % 3 : 255;
	for (int i = 0; i < 3; i++)
		receive->piece[i].length = take_length(fuzzed);
	return true;
}

static void complete(void *device, struct queue_pair *pair,
		     const struct verbs_completion *completion)
{
	struct fuzzed *fuzzed = device;
	int queue = completion->opcode == VERBS_RECEIVE;

	must(queue || completion->status || fuzzed->signaled[completion->id % DEPTH]);
	must(completion->id == fuzzed->completed[queue]++);
	must(completion->status != VERBS_WR_FLUSH_ERR || transport_state(pair) == VERBS_ERROR);
	must(*verbs_status_name(completion->status) != 'u');
}

static void retire(void *device, struct queue_pair *pair, const struct verbs_completion *completion)
{
	struct fuzzed *fuzzed = device;

	(void)pair;
	must(completion->id == fuzzed->completed[0]++);
	must(!completion->status && completion->opcode != VERBS_RECEIVE);
	must(!fuzzed->signaled[completion->id % DEPTH]);
}

static void tell(void *device, struct queue_pair *pair, const struct transport_event *event)
{
	struct fuzzed *fuzzed = device;

	(void)pair;
	must(event->now_ns == fuzzed->now_ns && event->psn <= RDMA_PSN_MASK);
}

static __u64 new_token(void *device)
{
	return ++((struct fuzzed *)device)->tokens;
}

static const struct transport_ops ops = {
	.gather = gather,
	.scatter = scatter,
	.check = check,
	.next_send = next_send,
	.next_receive = next_receive,
	.complete = complete,
	.retire = retire,
	.tell = tell,
	.new_token = new_token,
};

/* In memory that ends where its payload does. */
static void receive(struct fuzzed *fuzzed, __u32 near)
{
	struct rdma_packet header = {
		.kind = take_byte(fuzzed->in) % 32 ? take_below(fuzzed->in, RDMA_PACKET_KINDS)
						   : take_byte(fuzzed->in),
		.flags = take_byte(fuzzed->in),
		.code = take_byte(fuzzed->in) % 8,
		.timer = take_byte(fuzzed->in),
		.address = take_number(fuzzed->in),
		.length = take_length(fuzzed),
		.generation = take_byte(fuzzed->in) % 4,
	};
	struct rdma_packet *packet;

	if (take_byte(fuzzed->in) % 16)
		header.psn = (near + take_below(fuzzed->in, 8)) & RDMA_PSN_MASK;
	else
		header.psn = (__u32)take_number(fuzzed->in);
	header.bytes = take_byte(fuzzed->in) % 4 ? fuzzed->mtu : take_length(fuzzed);
	if (header.bytes > RDMA_MTU_MAX)
		header.bytes %= RDMA_MTU_MAX + 1; /* as the link has it */
	packet = malloc(sizeof(header) + header.bytes);
	must(packet);
	*packet = header;
	memset(packet->payload, 9, header.bytes);
	transport_receive(fuzzed->pair, packet, fuzzed->now_ns);
	free(packet);
}

static bool transmit(struct fuzzed *fuzzed)
{
	struct rdma_packet *packet = malloc(sizeof(*packet) + fuzzed->mtu);
	bool filled;

	must(packet);
	filled = transport_transmit(fuzzed->pair, packet, fuzzed->now_ns);
	must(!filled || (packet->bytes <= fuzzed->mtu && packet->kind < RDMA_PACKET_KINDS));
	free(packet);
	return filled;
}

static void step(struct fuzzed *fuzzed)
{
	static const int answers[] = {0, -EAGAIN, -EIO};
	__u64 deadline = transport_deadline(fuzzed->pair);
	int queue = take_below(fuzzed->in, 2);

	switch (take_below(fuzzed->in, 8)) {
	case 0:
		if (fuzzed->posted[queue] - fuzzed->completed[queue] < DEPTH)
			fuzzed->posted[queue]++;
		transport_posted(fuzzed->pair);
		break;
	case 1:
	case 2:
		transmit(fuzzed);
		break;
	case 3:
		transport_memory(fuzzed->pair, take_below(fuzzed->in, RDMA_SIDES),
				 answers[take_below(fuzzed->in, 3)], fuzzed->now_ns);
		break;
	case 4:
		fuzzed->now_ns =
			queue && deadline > fuzzed->now_ns ? deadline : fuzzed->now_ns + 1000;
		transport_timeout(fuzzed->pair, fuzzed->now_ns);
		break;
	default:
		/* What begins near the wrap: requests of the peer, answers for the pair. */
		receive(fuzzed, queue ? 0xfffffe : take_byte(fuzzed->in));
	}
}

static void hold_sums(const struct fuzzed *fuzzed)
{
	const struct transport_counters *counters = transport_counters(fuzzed->pair);
	__u64 dropped = 0;

	for (int why = 0; why < RDMA_DROPS; why++)
		dropped += counters->dropped[why];
	must(counters->arrived == counters->taken + dropped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	struct fuzzed fuzzed = {.in = &in, .mtu = TRANSPORT_MTU_MIN};
	struct transport_settings settings = {
		.mtu = fuzzed.mtu,
		.timeout_ns = take_below(&in, 2) * 100000,
		.retries = take_below(&in, 8),
		.rnr_retries = take_below(&in, 8),
		.rnr_timer = take_below(&in, 32),
		.read_rnr = take_below(&in, 2),
		.policy = fault_policies[take_below(&in, 2)],
	};

	must(!transport_pair_create(&fuzzed.pair, &settings, &ops, &fuzzed, 5, DEPTH, DEPTH));
	transport_modify(fuzzed.pair, VERBS_INIT, 0, 0, 0, 0);
	transport_modify(fuzzed.pair, VERBS_RTR, 6, 0, 0xfffffe, 0);
	transport_modify(fuzzed.pair, VERBS_RTS, 6, 0xfffffe, 0, 0);
	while (in.left) {
		step(&fuzzed);
		hold_sums(&fuzzed);
	}
	transport_modify(fuzzed.pair, VERBS_ERROR, 0, 0, 0, fuzzed.now_ns);
	must(fuzzed.completed[0] == fuzzed.posted[0] && fuzzed.completed[1] == fuzzed.posted[1]);
	must(!transmit(&fuzzed) && !transport_deadline(fuzzed.pair));
	transport_pair_destroy(fuzzed.pair);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	seeds_write_random(directory, 0, 4);
	exit(0);
}
