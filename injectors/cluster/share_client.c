// SPDX-License-Identifier: GPL-2.0
/*
 * A client's life: opens its controller by the manager, makes its pairs, and does I/O without anybody's help.
 *
 * Completions are polled, ever more slowly while there is none: two cores cannot hold many pollers that spin. Latencies that
 * matter are the model's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/inject.h"
#include "injectors/cluster/seen.h"
#include "injectors/cluster/share_client.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define CLIENT_POLL_NS	    (10 * NSEC_PER_USEC)
#define CLIENT_POLL_MOST_NS (2 * NSEC_PER_MSEC)

static void client_sleep(__u64 ns)
{
	struct timespec pause = timespec_of_ns(ns);

	nanosleep(&pause, NULL);
}

/* Its begin, when all hosts are there; false: the run is over before. */
static bool client_await_begin(const struct share_client *client)
{
	while (!cluster_run_ns(client->cluster)) {
		if (cluster_stopping(client->cluster))
			return false;
		client_sleep(NSEC_PER_MSEC);
	}
	return true;
}

static bool client_may_be_noisy(const struct cluster_config *config)
{
	for (__u32 i = 0; i < config->injection_count; i++)
		if (config->injections[i].kind == CLUSTER_NOISY_CLIENT)
			return true;
	return false;
}

static int client_limits(struct share_client *client)
{
	const struct io_config *io = &client->config->io;
	__u64 pages = (io->block + HOST_PAGE - 1) / HOST_PAGE;

	if (!io->block || io->block % NVME_BLOCK || io->block > NVME_TRANSFER_BYTES ||
	    pages > SHARE_LIST)
		return failed(-EINVAL, "%s: block=%llu: accepted: a multiple of %u up to %u",
			      client->config->name, (unsigned long long)io->block, NVME_BLOCK,
			      NVME_TRANSFER_BYTES);
	client->stride = (pages + 1) * HOST_PAGE;
	client->depth = io->depth ? io->depth : 1;
	if (client->depth >= SHARE_COMMANDS)
		return failed(-EINVAL, "%s: depth=%u: accepted: 1 to %u", client->config->name,
			      client->depth, SHARE_COMMANDS - 1);
	client->room =
		client_may_be_noisy(client->cluster->config) ? SHARE_COMMANDS - 1 : client->depth;
	return 0;
}

static void client_paths(struct share_client *client)
{
	struct cluster *cluster = client->cluster;

	client->path_count = 0;
	for (__u32 i = 0; i < SHARE_PATHS; i++) {
		struct client_path *path = &client->paths[i];

		path->index = i;
		path->adapter = client->config->adapters[i];
		if (client->lender == cluster->host)
			path->adapter = CLUSTER_NONE;
		else if (i == 0 && path->adapter == CLUSTER_NONE)
			path->adapter = share_near_adapter(cluster, cluster->host, client->lender);
		path->far_adapter =
			path->adapter == CLUSTER_NONE
				? CLUSTER_NONE
				: share_far_adapter(cluster, path->adapter, client->lender);
		if (i == 0 || path->adapter != CLUSTER_NONE)
			client->path_count++;
	}
}

/* One that is shut for now is made by a later failover, as long as another is ready. */
static int client_open_paths(struct share_client *client)
{
	const __u64 until_ns = monotonic_ns() + client->cluster->config->dead_ns;
	bool ready = false;
	int shut;

	for (;;) {
		shut = 0;
		for (__u32 i = 0; i < client->path_count; i++) {
			struct client_path *path = &client->paths[i];
			int err = path_map(client, path) ?: path_create(client, path);

			if (err && (path->far_adapter == CLUSTER_NONE || !client_call_again(err)))
				return err;
			if (!err && !ready)
				client->active = i;
			ready |= !err;
			shut = err ? err : shut;
		}
		if (ready || monotonic_ns() >= until_ns || cluster_stopping(client->cluster))
			return ready ? 0 : shut;
		client_sleep(NSEC_PER_MSEC);
	}
}

static int client_open(struct share_client *client)
{
	struct cluster *cluster = client->cluster;
	const struct cluster_config *config = cluster->config;
	int err;

	client->device = client->config->device;
	client->lender = config->devices[client->device].host;
	client->manager = CLUSTER_NONE;
	for (__u32 i = 0; i < config->manager_count; i++)
		if (config->managers[i].device == client->device)
			client->manager = config->managers[i].host;
	if (client->manager == CLUSTER_NONE)
		return failed(-EINVAL, "%s: %s has no [manager]", client->config->name,
			      config->devices[client->device].name);
	client->controller = share_controller(cluster, client->device);
	client->counts = share_counts(cluster, cluster->self);
	client_paths(client);
	err = client_limits(client);
	if (!err)
		err = client_open_controller(client);
	if (!err)
		err = io_user_open(&client->user, cluster, &client->config->io, client->device,
				   CLUSTER_NONE, CLUSTER_NONE);
	client->link_events = ntb_link_events(cluster);
	if (!err)
		err = client_data(client);
	return err ? err : client_open_paths(client);
}

static void client_close(struct share_client *client)
{
	for (__u32 i = 0; i < client->path_count; i++) {
		path_delete(client, &client->paths[i]);
		if (client->paths[i].state != PATH_READY)
			path_unmap(client, &client->paths[i]);
	}
	if (client->data.id && client->paths[0].state == PATH_NONE &&
	    client->paths[1].state == PATH_NONE)
		segment_destroy(client->cluster, &client->data);
	io_user_close(&client->user);
}

static void client_turns(struct share_client *client, const struct client_command *command)
{
	__u64 now = __atomic_add_fetch(&client->controller->ended, 1, __ATOMIC_RELAXED);
	__u64 others = now - command->turn - (client->ended - command->own);

	if (others < 1ull << 31 && others > client->counts->longest_turns)
		client->counts->longest_turns = (__u32)others;
}

void client_done(struct share_client *client, struct client_command *command, int status,
		 const __u64 *model_ns)
{
	struct seen_io seen = {.agent = client->cluster->self,
			       .device = client->device,
			       .queue = client->paths[client->active].queue,
			       .number = (__u32)command->io.number,
			       .offset = command->io.offset,
			       .bytes = command->io.bytes,
			       .begin_ns = command->begin_ns,
			       .end_ns = monotonic_ns(),
			       .write = command->io.write,
			       .error = -status};
	__u64 sum = 0;

	for (int i = 0; model_ns && i < IO_STAGES; i++) {
		seen.model_ns[i] = model_ns[i];
		sum += model_ns[i];
	}
	client->ended++;
	client_turns(client, command);
	io_user_done(&client->user, &command->io, client_buffer(client, command) + HOST_PAGE,
		     status, command->begin_ns, sum);
	seen_io(client->cluster, &seen);
	command->taken = false;
	client->taken--;
}

static struct client_command *client_by_id(struct share_client *client, __u16 id)
{
	for (__u32 i = 0; i < client->room; i++)
		if (client->commands[i].queued && client->commands[i].id == id)
			return &client->commands[i];
	return NULL;
}

/*
 * The command's write is posted, as the doorbell behind it: what is left of its way when the controller's read gets there, which
 * does not pass it, is all that it adds.
 */
static void client_price_command(__u64 *model_ns)
{
	__u64 hidden = model_ns[IO_STAGE_DOORBELL] + model_ns[IO_STAGE_FETCH] / 2;
	__u64 *command = &model_ns[IO_STAGE_COMMAND];

	*command = *command > hidden ? *command - hidden : 0;
}

static bool client_completions(struct share_client *client)
{
	struct client_path *path = &client->paths[client->active];
	struct cluster *cluster = client->cluster;
	struct initiator cpu = cpu_of(cluster, cluster->host);
	struct nvme_completion completion;
	bool any = false;

	while (path->state == PATH_READY && path_poll(client, path, &completion)) {
		struct client_command *command = client_by_id(client, completion.id);
		struct access_result notice = {0};
		struct io_price *price, taken = {0};

		any = true;
		if (!command)
			continue;
		price = nvme_price(cluster, client->function, path->queue, command->entry);
		if (price)
			nvme_price_take(price, &taken);
		client_price_command(taken.model_ns);
		access_read(cluster, &cpu, PURPOSE_MMIO, path->completions.address, &completion,
			    sizeof(completion), &notice);
		taken.model_ns[IO_STAGE_NOTICE] = notice.model_ns;
		command->queued = false;
		client->queued--;
		client_done(client, command, NVME_STATUS(&completion) ? -EIO : 0, taken.model_ns);
	}
	return any;
}

static struct client_command *client_free_command(struct share_client *client)
{
	for (__u32 i = 0; i < client->room; i++)
		if (!client->commands[i].taken)
			return &client->commands[i];
	return NULL;
}

/* Commands that a failover has taken back go first. False: the link has changed. */
static bool client_send_again(struct share_client *client, struct client_path *path)
{
	for (__u32 i = 0; i < client->room; i++) {
		struct client_command *command = &client->commands[i];

		if (command->taken && !command->queued && !path_send(client, path, command))
			return false;
	}
	return true;
}

static bool client_begin(struct share_client *client, struct client_path *path, __u64 *wait_ns)
{
	struct client_command *command = client_free_command(client);
	struct io_next next;

	if (!command || cluster_stopping(client->cluster))
		return false;
	*wait_ns = 0;
	if (!io_user_next(&client->user, &next, wait_ns)) {
		client->drained = !*wait_ns;
		return false;
	}
	command->io = next;
	command->taken = true;
	command->begin_ns = monotonic_ns();
	command->turn = __atomic_load_n(&client->controller->ended, __ATOMIC_RELAXED);
	command->own = client->ended;
	client->taken++;
	if (next.write)
		io_user_fill(&client->user, &next, client_buffer(client, command) + HOST_PAGE);
	return path_send(client, path, command);
}

static bool client_submit(struct share_client *client, __u64 *wait_ns)
{
	struct client_path *path = &client->paths[client->active];
	__u32 depth = client->depth;
	bool any = false;

	if (path->state != PATH_READY || !client_send_again(client, path))
		return false;
	if (client->room > depth &&
	    cluster_inject(client->cluster, CLUSTER_NOISY_CLIENT, client->cluster->self, NULL))
		depth = client->room;
	while (client->taken < depth && !client->drained && !client->returns &&
	       client_begin(client, path, wait_ns))
		any = true;
	return any;
}

/* The run is over, and what is outstanding has had its time: nobody will answer it any more. */
static bool client_gives_up(const struct share_client *client, __u64 *since_ns)
{
	if (!cluster_stopping(client->cluster))
		return false;
	if (!*since_ns)
		*since_ns = monotonic_ns();
	return monotonic_ns() - *since_ns >
	       2 * client->config->io_timeout_ns + 2 * client->cluster->config->dead_ns;
}

/* Until its I/Os are done or the run is over; what is outstanding then is waited for. */
static int client_work(struct share_client *client)
{
	__u64 pause = CLIENT_POLL_NS, since_ns = 0;

	while (client->taken || (!client->drained && !cluster_stopping(client->cluster))) {
		__u64 wait_ns = 0;
		bool any = client_completions(client);
		int err;

		if (client_gives_up(client, &since_ns))
			return failed(-ETIMEDOUT, "%u commands had no answer at the run's end",
				      client->taken);
		any |= client_submit(client, &wait_ns);
		err = client_watch(client);
		if (err < 0)
			return err;
		if (any || err) {
			pause = CLIENT_POLL_NS;
			continue;
		}
		client_sleep(!client->taken && wait_ns && wait_ns < pause ? wait_ns : pause);
		pause = pause * 2 < CLIENT_POLL_MOST_NS ? pause * 2 : CLIENT_POLL_MOST_NS;
	}
	return 0;
}

static int client_live(struct share_client *client)
{
	int err = client_open(client);
	char why[256];

	if (!err && client->config->multicast_identify)
		err = client_identify_all(client);
	if (!err)
		err = client_work(client);
	snprintf(why, sizeof(why), "%s", err ? failure_text() : "");
	client_close(client);
	return err ? failed(err, "%s", why) : 0;
}

int client_run(struct cluster *cluster)
{
	struct share_client *client = calloc(1, sizeof(*client));
	int err = 0;

	if (!client)
		return failed(-ENOMEM, "no memory for a client");
	client->cluster = cluster;
	client->config = &cluster->config->clients[agent_info(cluster, cluster->self)->config];
	if (client_await_begin(client))
		err = client_live(client);
	free(client);
	return err;
}
