// SPDX-License-Identifier: GPL-2.0
/* A client's queue pair over one adapter: where its memory lies, how commands get there and completions come back. */
#include <errno.h>
#include <string.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/inject.h"
#include "injectors/cluster/share_client.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static void path_step(const struct share_client *client, enum cluster_step step, __u64 address,
		      int error)
{
	cluster_step(client->cluster, &(struct step){.step = step,
						     .device = client->device,
						     .borrow = client->controller->borrow,
						     .other_host = client->lender,
						     .address = address,
						     .error = -error});
}

int client_open_controller(struct share_client *client)
{
	struct message message = {.type = MESSAGE_SHARE_OPEN, .words = {client->device}};
	int err = client_call(client, &message);

	if (err)
		return err;
	client->function = (__u32)message.words[0];
	client->epoch = (__u32)message.words[1];
	client->queue_entries =
		message.words[3] < SHARE_ENTRIES ? (__u32)message.words[3] : SHARE_ENTRIES;
	if (client->function >= FUNCTIONS_MAX || client->queue_entries < 2)
		return failed(-EPROTO, "a manager tells of function %u and queues of %u entries",
			      client->function, client->queue_entries);
	return 0;
}

/* Buffers of all commands, with their lists: a segment in this host's RAM. */
int client_data(struct share_client *client)
{
	__u64 address;
	int err = segment_create(client->cluster, HINT_CPU_READS, client->device, CLUSTER_NONE,
				 client->room * client->stride, &client->data);

	if (err)
		return err;
	path_step(client, STEP_CLIENT_SEGMENT, client->data.address, 0);
	return segment_map_cpu(client->cluster, &client->data, CLUSTER_NONE, &address,
			       &client->memory);
}

__u8 *client_buffer(const struct share_client *client, const struct client_command *command)
{
	return (__u8 *)client->memory + (__u64)(command - client->commands) * client->stride;
}

bool path_reaches(const struct share_client *client, const struct client_path *path)
{
	return path->adapter == CLUSTER_NONE ||
	       ntb_reaches(client->cluster, client->cluster->host, client->lender, path->adapter);
}

static int path_doorbells(struct share_client *client, struct client_path *path)
{
	struct cluster *cluster = client->cluster;
	struct ntb_window wanted = {.adapter = path->adapter,
				    .kind = WINDOW_BAR,
				    .far_host = client->lender,
				    .far = function_bar_address(cluster, client->function, 0),
				    .bytes = function_bar_bytes(cluster, client->function, 0),
				    .owner = cluster->self,
				    .borrow = client->controller->borrow};
	int err;

	if (path->adapter == CLUSTER_NONE) {
		path->registers = wanted.far;
		return 0;
	}
	if (path->bar.bytes && ntb_mapped(cluster, &path->bar))
		return 0;
	err = ntb_map(cluster, &wanted, ~0ull, &path->bar);
	if (err)
		path->bar.bytes = 0;
	path->registers = path->bar.address;
	return err;
}

static int path_segments(struct share_client *client, struct client_path *path)
{
	struct cluster *cluster = client->cluster;
	int err = 0;

	if (!path->commands.id)
		err = segment_create(cluster, client->config->queue_hint, client->device,
				     client->config->queue_peer,
				     client->queue_entries * sizeof(struct nvme_command),
				     &path->commands);
	if (!err && !path->completions.id)
		err = segment_create(cluster, HINT_CPU_READS, client->device, CLUSTER_NONE,
				     client->queue_entries * sizeof(struct nvme_completion),
				     &path->completions);
	if (!err)
		path_step(client, STEP_CLIENT_SEGMENT, path->commands.address, 0);
	return err;
}

static int path_map_segments(struct share_client *client, struct client_path *path)
{
	struct cluster *cluster = client->cluster;
	void *memory;
	__u64 address;
	/* Of the oldest domains that any of them may have been mapped in. */
	__u32 epoch = share_epoch(cluster, client->device);
	int err = segment_map_cpu(cluster, &path->commands, path->adapter, &path->commands_bus,
				  &memory);

	if (!err)
		err = segment_map_cpu(cluster, &path->completions, path->adapter, &address,
				      &memory);
	path->entries = memory;
	if (!err)
		err = segment_map_device(cluster, path->commands.id, client->function,
					 path->far_adapter, &path->commands_device);
	if (!err)
		err = segment_map_device(cluster, path->completions.id, client->function,
					 path->far_adapter, &path->completions_device);
	if (!err)
		err = segment_map_device(cluster, client->data.id, client->function,
					 path->far_adapter, &path->data_device);
	if (!err)
		path->mapped_epoch = epoch;
	return err;
}

int path_map(struct share_client *client, struct client_path *path)
{
	__u32 before = client->counts->windows_mapped;
	int err = path_doorbells(client, path);

	if (!err)
		err = path_segments(client, path);
	if (!err)
		err = path_map_segments(client, path);
	if (err)
		return err;
	path->remapped = before != client->counts->windows_mapped;
	if (path->state == PATH_NONE)
		path->state = PATH_MAPPED;
	return 0;
}

/*
 * One window of each side stands for all: who wipes a table wipes all of it. The lender's has the data, and the queue that the
 * device reads; where these are its own memory, the completions.
 */
bool path_mapped(const struct share_client *client, const struct client_path *path)
{
	return path->adapter == CLUSTER_NONE ||
	       (path->bar.bytes && ntb_mapped(client->cluster, &path->bar) &&
		segment_mapped_device(client->cluster, path->completions.id, client->function,
				      path->far_adapter) &&
		segment_mapped_device(client->cluster, client->data.id, client->function,
				      path->far_adapter));
}

/* In new windows it is a new pair: its number is not that of the old one, which is given back after it. */
int path_create(struct share_client *client, struct client_path *path)
{
	struct message old = {.type = MESSAGE_SHARE_DELETE, .words = {client->device, path->queue}};
	struct message message = {.type = MESSAGE_SHARE_CREATE,
				  .words = {client->device, path->remapped ? 0 : path->queue,
					    client->queue_entries, path->completions_device,
					    path->commands_device}};
	int err;

	memset((void *)path->entries, 0, client->queue_entries * sizeof(*path->entries));
	err = client_call(client, &message);
	path_step(client, STEP_CLIENT_CREATE, path->commands_device, err);
	if (err)
		return err;
	if (old.words[1] && old.words[1] != message.words[0])
		client_call(client, &old);
	path->queue = (__u32)message.words[0];
	path->epoch = client->epoch = (__u32)message.words[1];
	/* A manager begun anew since the segments were mapped has domains of its own. No doorbell was rung yet. */
	if (path->epoch != path->mapped_epoch)
		err = path_map_segments(client, path);
	if (err)
		return err;
	path->tail = path->head = 0;
	path->phase = 1;
	path->remapped = false;
	path->state = PATH_READY;
	client->counts->pairs_created++;
	path_step(client, STEP_CLIENT_READY, path->queue, 0);
	return 0;
}

void path_delete(struct share_client *client, struct client_path *path)
{
	struct message message = {.type = MESSAGE_SHARE_DELETE,
				  .words = {client->device, path->queue}};
	int err;

	if (!path->queue)
		return;
	err = client_call(client, &message);
	path_step(client, STEP_CLIENT_DELETE, path->queue, err);
	if (err) {
		path->state = PATH_READY; /* its memory must stay */
		return;
	}
	path->state = PATH_MAPPED;
	path->queue = 0;
}

void path_unmap(struct share_client *client, struct client_path *path)
{
	if (path->commands.id)
		segment_destroy(client->cluster, &path->commands);
	if (path->completions.id)
		segment_destroy(client->cluster, &path->completions);
	if (path->bar.bytes && ntb_mapped(client->cluster, &path->bar))
		ntb_unmap(client->cluster, &path->bar);
	path->bar.bytes = 0;
	path->state = PATH_NONE;
}

/* Device's address of a command's data, and of its list in the page before. */
static void path_addresses(const struct share_client *client, const struct client_path *path,
			   const struct client_command *command, struct nvme_command *entry)
{
	__u64 list = path->data_device + (__u64)(command - client->commands) * client->stride;
	__u64 *pages = (__u64 *)client_buffer(client, command);
	__u64 count = (command->io.bytes + HOST_PAGE - 1) / HOST_PAGE;

	entry->prp1 = list + HOST_PAGE;
	if (count == 2)
		entry->prp2 = list + 2ull * HOST_PAGE;
	for (__u64 i = 1; count > 2 && i < count && i <= SHARE_LIST; i++)
		pages[i - 1] = list + (i + 1) * HOST_PAGE;
	if (count > 2)
		entry->prp2 = list;
}

/* Injected: names another client's memory, which an IOMMU that knows devices and no processes lets pass (PV section 8.1). */
static void path_rogue(struct share_client *client, const struct client_command *command,
		       struct nvme_command *entry)
{
	__u64 address;

	if (command->io.write || command->io.bytes > HOST_PAGE ||
	    !cluster_inject(client->cluster, CLUSTER_ROGUE_DMA, client->device, NULL) ||
	    !segment_of_others(client->cluster, client->cluster->self, client->function, &address))
		return;
	entry->prp1 = address;
	client->counts->rogue++;
}

static void path_ring(struct share_client *client, const struct client_path *path, __u64 offset,
		      __u32 value, __u64 *model_ns)
{
	struct initiator cpu = cpu_of(client->cluster, client->cluster->host);
	struct access_result result = {0};

	access_write(client->cluster, &cpu, PURPOSE_MMIO, path->registers + offset, &value,
		     sizeof(value), &result);
	if (model_ns)
		*model_ns = result.model_ns;
}

bool path_send(struct share_client *client, struct client_path *path,
	       struct client_command *command)
{
	struct cluster *cluster = client->cluster;
	struct nvme_command entry = {.opcode = command->io.write ? NVME_WRITE : NVME_READ,
				     .namespace_id = NVME_NAMESPACE};
	struct initiator cpu = cpu_of(cluster, cluster->host);
	struct io_price *price = nvme_price(cluster, client->function, path->queue, path->tail);
	__u64 block = command->io.offset / NVME_BLOCK;
	struct access_result result = {0};

	cpu.device = function_device(cluster, client->function);
	do
		client->id++;
	while (client->id == NVME_FATE_NONE);
	entry.id = command->id = client->id;
	entry.cdw[0] = (__u32)block;
	entry.cdw[1] = (__u32)(block >> 32);
	entry.cdw[2] = (__u32)(command->io.bytes / NVME_BLOCK - 1);
	path_addresses(client, path, command, &entry);
	path_rogue(client, command, &entry);
	access_write(cluster, &cpu, PURPOSE_MMIO, path->commands_bus + path->tail * sizeof(entry),
		     &entry, sizeof(entry), &result);
	command->entry = path->tail;
	command->queued = true;
	command->sent_ns = monotonic_ns();
	client->queued++;
	/* A command that the link may have lost must not be fetched: its slot may have an older one. */
	if (path->adapter != CLUSTER_NONE && ntb_link_events(cluster) != client->link_events)
		return false;
	path->tail = (path->tail + 1) % client->queue_entries;
	if (price) {
		nvme_price_begin(price, cluster->self);
		price->model_ns[IO_STAGE_COMMAND] = result.model_ns;
	}
	path_ring(client, path, NVME_DOORBELL_SQ(path->queue), path->tail,
		  price ? &price->model_ns[IO_STAGE_DOORBELL] : NULL);
	return true;
}

bool path_poll(struct share_client *client, struct client_path *path,
	       struct nvme_completion *completion)
{
	volatile struct nvme_completion *entry = &path->entries[path->head];
	__u16 status = __atomic_load_n(&entry->status, __ATOMIC_ACQUIRE);

	if ((status & 1) != path->phase)
		return false;
	*completion = (struct nvme_completion){.result = entry->result,
					       .sq_head = entry->sq_head,
					       .sq_id = entry->sq_id,
					       .id = entry->id,
					       .status = status};
	path->head = (path->head + 1) % client->queue_entries;
	path->phase ^= path->head == 0;
	path_ring(client, path, NVME_DOORBELL_CQ(path->queue), path->head, NULL);
	return true;
}
