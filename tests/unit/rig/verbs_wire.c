// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rig/verbs_wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "injectors/emu/verbs/verbs_data.h"
#include "injectors/guest/guest_open.h"
#include "lib/base/clock.h"
#include "tests/unit/rig/verbs_wire_private.h"

static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;
struct verbs_wire_counts wire_counts;
int wire_refuse;
static bool wire_overrun;

void wire_count(__u64 *what, __s64 more)
{
	pthread_mutex_lock(&counts_lock);
	*what += (__u64)more;
	pthread_mutex_unlock(&counts_lock);
}

void verbs_wire_counts(struct verbs_wire_counts *out)
{
	pthread_mutex_lock(&counts_lock);
	*out = wire_counts;
	pthread_mutex_unlock(&counts_lock);
}

void verbs_wire_refuse(int error)
{
	wire_refuse = error;
}

int verbs_wire_pair(int ends[2], __u32 device, enum rdma_mode mode)
{
	struct hyv_hello hello = {.version = HYV_VERSION,
				  .mode = mode,
				  .share_bytes = 64u << 20,
				  .mtu = 4096,
				  .device = device,
				  .guid = 0x0002c90300a00000ull + device};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	for (int i = 0; i < 2; i++) {
		if (send(ends[1 - i], &hello, sizeof(hello), 0) != sizeof(hello))
			return -errno;
		hello.device++;
		hello.guid++;
	}
	return 0;
}

static bool may(struct verbs_device *device, const struct verbs_sge *piece, __u32 domain,
		unsigned int rights)
{
	const struct wire_region *region = &device->regions[piece->key % WIRE_REGIONS];

	return piece->key && region->mr.key == piece->key && region->domain == domain &&
	       piece->address >= region->mr.address && piece->length <= region->mr.bytes &&
	       piece->address - region->mr.address <= region->mr.bytes - piece->length &&
	       (region->rights & rights) == rights;
}

void verbs_wire_overrun(void)
{
	__atomic_store_n(&wire_overrun, true, __ATOMIC_RELEASE);
}

int guest_alarm_descriptor(const struct verbs_device *device)
{
	return device->alarm;
}

/* Under the device's lock. */
static void overrun(struct verbs_queue *queue)
{
	struct verbs_device *device = queue->device;

	queue->failed = true;
	for (__u32 i = 0; i < WIRE_PAIRS; i++)
		if (device->pairs[i] && (device->pairs[i]->send_queue == queue ||
					 device->pairs[i]->receive_queue == queue))
			device->pairs[i]->failed = true;
	(void)eventfd_write(device->alarm, 1);
}

static bool failure_of(struct verbs_pair *pair, struct verbs_failure *failure)
{
	struct verbs_queue *queue =
		pair->send_queue->failed ? pair->send_queue : pair->receive_queue;

	if (queue->failed)
		*failure = (struct verbs_failure){.what = VERBS_QUEUE_FAILED, .queue = queue};
	else if (pair->failed)
		*failure = (struct verbs_failure){
			.what = VERBS_PAIR_FAILED, .number = pair->number, .pair = pair};
	else
		return false;
	*(queue->failed ? &queue->failed : &pair->failed) = false;
	return true;
}

int verbs_get_failure(struct verbs_device *device, struct verbs_failure *failure)
{
	bool found = false;

	pthread_mutex_lock(&device->lock);
	for (__u32 i = 0; i < WIRE_PAIRS && !found; i++)
		found = device->pairs[i] && failure_of(device->pairs[i], failure);
	pthread_mutex_unlock(&device->lock);
	return found ? 0 : -EAGAIN;
}

static void completed(struct verbs_queue *queue, const struct verbs_completion *completion)
{
	struct verbs_channel *channel = queue->channel;

	if (__atomic_exchange_n(&wire_overrun, false, __ATOMIC_ACQ_REL)) {
		overrun(queue);
		return;
	}
	queue->entries[queue->written++ % queue->depth] = *completion;
	if (!channel || queue->written <= queue->armed)
		return;
	queue->armed = VERBS_UNARMED;
	channel->event[channel->told++ % WIRE_EVENTS] = queue;
	wire_count(&wire_counts.events, 1);
	(void)eventfd_write(channel->descriptor, 1);
}

static __u32 length_of(const struct verbs_sge *pieces, int count)
{
	__u32 bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += pieces[i].length;
	return bytes;
}

static void vectors_of(struct iovec *vectors, const struct verbs_sge *pieces, int count)
{
	for (int i = 0; i < count; i++)
		vectors[i] = (struct iovec){.iov_base = (void *)(uintptr_t)pieces[i].address,
					    .iov_len = pieces[i].length};
}

/* Between the asking process and this one. */
static __u8 move(const struct wire_message *request, const struct verbs_sge *here, int count_here,
		 __u32 bytes)
{
	struct iovec there[VERBS_SGE_MAX], mine[VERBS_SGE_MAX];
	bool read = request->send.opcode == VERBS_READ;
	ssize_t moved;

	if (!bytes)
		return VERBS_SUCCESS;
	vectors_of(there, request->send.piece, request->send.pieces);
	vectors_of(mine, here, count_here);
	moved = read ? process_vm_writev(request->pid, mine, (unsigned long)count_here, there,
					 request->send.pieces, 0)
		     : process_vm_readv(request->pid, mine, (unsigned long)count_here, there,
					request->send.pieces, 0);
	wire_count(&wire_counts.bytes, moved < 0 ? 0 : moved);
	return moved == (ssize_t)bytes ? VERBS_SUCCESS : VERBS_REM_OP_ERR;
}

/* False: it waits for a receive. */
static bool serve_send(struct verbs_pair *pair, struct wire_message *request)
{
	struct wire_receives *receives = pair->srq ? &pair->srq->receives : &pair->own;
	const struct verbs_receive *entry = &receives->entry[receives->used % WIRE_DEPTH];
	__u32 bytes = length_of(request->send.piece, request->send.pieces);
	struct verbs_completion completion = {.opcode = VERBS_RECEIVE, .queue_pair = pair->number};

	if (receives->used == receives->posted)
		return false;
	receives->used++;
	completion.id = entry->id;
	completion.bytes = bytes;
	if (length_of(entry->piece, entry->pieces) < bytes)
		completion.status = VERBS_LOC_LEN_ERR;
	for (int i = 0; i < entry->pieces; i++)
		if (!may(pair->device, &entry->piece[i], pair->domain, VERBS_LOCAL_WRITE))
			completion.status = VERBS_LOC_PROT_ERR;
	if (!completion.status)
		completion.status = move(request, entry->piece, entry->pieces, bytes);
	request->status = completion.status ? VERBS_REM_OP_ERR : VERBS_SUCCESS;
	completed(pair->receive_queue, &completion);
	return true;
}

static bool serve(struct verbs_device *device, struct wire_message *request)
{
	struct verbs_pair *pair = device->pairs[request->to % WIRE_PAIRS];
	struct verbs_sge remote = {.address = request->send.remote_address,
				   .key = request->send.remote_key};

	if (!pair || pair->number != request->to || pair->state < VERBS_RTR)
		return false;
	request->bytes = length_of(request->send.piece, request->send.pieces);
	if (request->send.opcode == VERBS_SEND)
		return serve_send(pair, request);
	remote.length = request->bytes;
	if (may(device, &remote, pair->domain,
		request->send.opcode == VERBS_READ ? VERBS_REMOTE_READ : VERBS_REMOTE_WRITE))
		request->status = move(request, &remote, 1, request->bytes);
	else
		request->status = VERBS_REM_ACCESS_ERR;
	return true;
}

static void answered(struct verbs_device *device, const struct wire_message *answer)
{
	struct verbs_pair *pair = device->pairs[answer->from % WIRE_PAIRS];
	struct verbs_completion completion = {.id = answer->send.id,
					      .queue_pair = answer->from,
					      .bytes = answer->bytes,
					      .status = answer->status,
					      .opcode = answer->send.opcode};

	if (!pair || pair->number != answer->from)
		return;
	pair->freed = answer->from_index + 1;
	if (answer->status)
		pair->state = VERBS_ERROR;
	if (answer->status || answer->send.flags & VERBS_SEND_SIGNALED)
		completed(pair->send_queue, &completion);
}

void wire_serve(struct verbs_device *device)
{
	__u32 kept = 0;

	for (__u32 i = 0; i < device->waiting_count; i++) {
		struct wire_message *message = &device->waiting[i];

		if (serve(device, message)) {
			message->answer = 1;
			(void)!send(device->socket, message, sizeof(*message), MSG_NOSIGNAL);
		} else {
			device->waiting[kept++] = *message;
		}
	}
	device->waiting_count = kept;
}

void *wire_main(void *argument)
{
	struct verbs_device *device = argument;
	struct wire_message message;

	while (recv(device->socket, &message, sizeof(message), 0) == sizeof(message)) {
		pthread_mutex_lock(&device->lock);
		if (message.answer)
			answered(device, &message);
		else if (device->waiting_count < WIRE_WAITING)
			device->waiting[device->waiting_count++] = message;
		wire_serve(device);
		pthread_mutex_unlock(&device->lock);
	}
	__atomic_store_n(&device->gone, true, __ATOMIC_RELEASE);
	return NULL;
}

__u32 verbs_send_room(const struct verbs_pair *pair)
{
	return pair->send_depth - (__u32)(pair->sent - pair->freed);
}

static int post_locked(struct verbs_pair *pair, const struct verbs_send *request)
{
	struct verbs_device *device = pair->device;
	struct wire_message message = {.send = *request,
				       .from_index = pair->sent,
				       .to = pair->peer,
				       .from = pair->number,
				       .pid = getpid()};

	if (!verbs_send_room(pair))
		return -ENOMEM;
	pair->sent++;
	for (int i = 0; i < request->pieces; i++) {
		if (may(device, &request->piece[i], pair->domain,
			request->opcode == VERBS_READ ? VERBS_LOCAL_WRITE : 0))
			continue;
		message.status = VERBS_LOC_PROT_ERR;
		answered(device, &message);
		return 0;
	}
	return send(device->socket, &message, sizeof(message), MSG_NOSIGNAL) < 0 ? -EPIPE : 0;
}

int verbs_post_send(struct verbs_pair *pair, const struct verbs_send *request)
{
	int error;

	pthread_mutex_lock(&pair->device->lock);
	error = post_locked(pair, request);
	pthread_mutex_unlock(&pair->device->lock);
	return error;
}

static int receive_post(struct verbs_device *device, struct wire_receives *receives,
			const struct verbs_receive *receive)
{
	int error = -ENOMEM;

	pthread_mutex_lock(&device->lock);
	if (receives->posted - receives->used < receives->depth) {
		receives->entry[receives->posted++ % WIRE_DEPTH] = *receive;
		wire_serve(device);
		error = 0;
	}
	pthread_mutex_unlock(&device->lock);
	return error;
}

int verbs_post_recv(struct verbs_pair *pair, const struct verbs_receive *receive)
{
	return receive_post(pair->device, &pair->own, receive);
}

int verbs_post_srq_recv(struct verbs_srq *srq, const struct verbs_receive *receive)
{
	return receive_post(srq->device, &srq->receives, receive);
}

int verbs_poll_cq(struct verbs_queue *queue, int most, struct verbs_completion *completions)
{
	int taken = 0;

	pthread_mutex_lock(&queue->device->lock);
	while (taken < most && queue->taken < queue->written)
		completions[taken++] = queue->entries[queue->taken++ % queue->depth];
	pthread_mutex_unlock(&queue->device->lock);
	return taken;
}

int verbs_create_channel(struct verbs_device *device, struct verbs_channel **channel)
{
	*channel = calloc(1, sizeof(**channel));
	if (!*channel)
		return -ENOMEM;
	(*channel)->device = device;
	(*channel)->descriptor = eventfd(0, EFD_CLOEXEC);
	wire_count(&wire_counts.channels, 1);
	return 0;
}

int verbs_destroy_channel(struct verbs_channel *channel)
{
	close(channel->descriptor);
	free(channel);
	wire_count(&wire_counts.channels, -1);
	return 0;
}

int verbs_channel_descriptor(struct verbs_channel *channel)
{
	return channel->descriptor;
}

void verbs_set_channel(struct verbs_queue *queue, struct verbs_channel *channel)
{
	queue->channel = channel;
}

void verbs_arm_cq(struct verbs_queue *queue)
{
	pthread_mutex_lock(&queue->device->lock);
	queue->armed = queue->written;
	pthread_mutex_unlock(&queue->device->lock);
}

static int event_take(struct verbs_channel *channel, struct verbs_queue **queue)
{
	int error = -EAGAIN;
	eventfd_t told;

	pthread_mutex_lock(&channel->device->lock);
	if (channel->taken < channel->told) {
		*queue = channel->event[channel->taken++ % WIRE_EVENTS];
		error = 0;
	} else if (__atomic_load_n(&channel->device->gone, __ATOMIC_ACQUIRE)) {
		error = -EPIPE;
	}
	/* Readable as long as there is one. */
	if (!error && channel->taken == channel->told)
		(void)eventfd_read(channel->descriptor, &told);
	pthread_mutex_unlock(&channel->device->lock);
	return error;
}

int verbs_get_cq_event(struct verbs_channel *channel, struct verbs_queue **queue, __u64 deadline_ns)
{
	struct pollfd one = {.fd = channel->descriptor, .events = POLLIN};
	int error;

	while ((error = event_take(channel, queue)) == -EAGAIN) {
		if (deadline_ns && monotonic_ns() >= deadline_ns)
			return -ETIMEDOUT;
		(void)poll(&one, 1, 10);
	}
	return error;
}
