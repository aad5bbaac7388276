// SPDX-License-Identifier: GPL-2.0
/*
 * A client whose way to the controller is gone: learns of it by a timeout or the link, and goes on over another pair, or the same.
 *
 * No acknowledged write is lost and none is applied twice: the manager deletes the old pair first, after which nothing of it is
 * carried out, and asks the controller which commands were. Those are done; all others are sent again. While no manager can tell,
 * a command in flight is neither.
 */
#include <errno.h>
#include <string.h>

#include "injectors/cluster/seen.h"
#include "injectors/cluster/share_client.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define CALL_PAUSE_NS  (5 * NSEC_PER_MSEC)
#define CALL_BUSY_DEAD 4

bool client_call_again(int err)
{
	return err == -EAGAIN || err == -EHOSTDOWN || err == -ENETUNREACH || err == -ETIMEDOUT ||
	       err == -ENODEV;
}

/* A manager that answers that it cannot yet is getting the controller back, which takes several turns of dead_ns. */
static __u64 call_patience(const struct share_client *client, int err)
{
	const __u64 dead_ns = client->cluster->config->dead_ns;

	return err == -EAGAIN && !cluster_stopping(client->cluster) ? CALL_BUSY_DEAD * dead_ns
								    : dead_ns;
}

int client_call(struct share_client *client, struct message *message)
{
	struct cluster *cluster = client->cluster;
	const struct cluster_config *config = cluster->config;
	struct timespec pause = timespec_of_ns(CALL_PAUSE_NS);
	const struct message question = *message;
	__u64 begin = monotonic_ns();
	int err;

	while ((err = message_call(cluster, client->manager, message, 0)) &&
	       client_call_again(err) && monotonic_ns() - begin < call_patience(client, err)) {
		*message = question;
		nanosleep(&pause, NULL);
	}
	if (!err)
		return 0;
	client->counts->admin_refused++;
	return client_call_again(err)
		       ? failed_in(err,
				   "%s: admin commands of %s are refused until its manager on %s "
				   "can be reached",
				   client->config->name, config->devices[client->device].name,
				   config->hosts[client->manager].name)
		       : failed_in(err, "%s", client->config->name);
}

/* Those in the queue, four ids a word, and which command each is. */
static __u32 settle_question(const struct share_client *client, struct message *message,
			     __u32 *which)
{
	__u32 count = 0;

	for (__u32 i = 0; i < client->room; i++)
		if (client->commands[i].queued) {
			message->words[4 + count / 4] |= (__u64)client->commands[i].id
							 << count % 4 * 16;
			which[count++] = i;
		}
	message->words[2] = count;
	return count;
}

/* Deletes the pair; each of its commands is done afterwards, or is to be sent again, or nobody knows: an error. */
static int path_settle(struct share_client *client, struct client_path *path,
		       struct seen_failover *seen)
{
	struct message message = {.type = MESSAGE_SHARE_DELETE,
				  .words = {client->device, path->queue, 0, 1}};
	__u32 which[SHARE_COMMANDS], count = settle_question(client, &message, which);
	int err = client_call(client, &message);
	__u64 done = err ? 0 : message.words[0];

	for (__u32 i = 0; i < count; i++) {
		struct client_command *command = &client->commands[which[i]];

		command->queued = false;
		client->queued--;
		if (err) {
			client->counts->unknown++;
			client_done(client, command, -EIO, NULL);
		} else if (done >> i & 1 && command->io.write) {
			seen->known_done++;
			client_done(client, command, 0, NULL);
		} else {
			seen->resubmitted++;
		}
	}
	path->state = PATH_MAPPED;
	if (!err)
		client->epoch = (__u32)message.words[1];
	return err;
}

/* What keeps this pair from going on. */
static enum failover_reason path_reason(const struct share_client *client,
					const struct client_path *path, __u32 epoch)
{
	struct cluster *cluster = client->cluster;

	if (agent_state(cluster, client->lender) > AGENT_RUNS)
		return FAILOVER_LENDER;
	if (!path_reaches(client, path))
		return FAILOVER_LINK;
	if (!path_mapped(client, path))
		return FAILOVER_TABLES;
	return epoch != path->epoch ? FAILOVER_MANAGER : FAILOVER_TIMEOUT;
}

static void failover_told(struct share_client *client, const struct client_path *to,
			  struct seen_failover *seen, __u64 begin, enum cluster_step step)
{
	struct cluster *cluster = client->cluster;

	seen->agent = cluster->self;
	seen->device = client->device;
	seen->to_pair = to->queue;
	seen->took_ns = monotonic_ns() - begin;
	client->counts->failovers++;
	client->counts->resubmitted += seen->resubmitted;
	client->counts->known_done += seen->known_done;
	if (seen->took_ns > client->counts->longest_failover_ns)
		client->counts->longest_failover_ns = seen->took_ns;
	cluster_step(cluster, &(struct step){.step = step,
					     .device = client->device,
					     .borrow = client->controller->borrow,
					     .other_host = client->lender,
					     .address = to->queue,
					     .took_ns = seen->took_ns});
	seen_failover(cluster, seen);
	truth_cluster(cluster, &(struct cluster_truth){.what = "failover",
						       .agent = cluster->self,
						       .device = client->device,
						       .borrow = client->controller->borrow,
						       .queue = to->queue,
						       .address = seen->from_pair,
						       .length = seen->resubmitted,
						       .value = seen->known_done,
						       .code = (__s32)seen->reason});
}

/* One that is ready and whose way is open; or one that can be made so. */
static struct client_path *failover_target(struct share_client *client)
{
	for (__u32 i = 1; i <= client->path_count; i++) {
		struct client_path *path =
			&client->paths[(client->active + i) % client->path_count];

		if (path_reaches(client, path))
			return path;
	}
	return NULL;
}

/* Waits for any way to be open; a client without one for longer than dead_ns ends. */
static struct client_path *failover_await(struct share_client *client)
{
	struct cluster *cluster = client->cluster;
	__u64 begin = monotonic_ns();

	do {
		__u32 events = ntb_link_events(cluster);
		struct client_path *path = failover_target(client);

		if (path)
			return path;
		ntb_link_wait(cluster, events, CALL_PAUSE_NS);
	} while (monotonic_ns() - begin < cluster->config->dead_ns);
	return NULL;
}

/* Ready, in the epoch that there is now. */
static int path_make_ready(struct share_client *client, struct client_path *path)
{
	bool old = path->epoch != client->epoch || path->epoch != path->mapped_epoch;
	int err = 0;

	if (!path_mapped(client, path) || path->state == PATH_NONE || old)
		err = path_map(client, path);
	if (!err && (path->state != PATH_READY || path->remapped || old))
		err = path_create(client, path);
	return err;
}

/* A manager that dies meanwhile takes the domains away that the pair's memory was being mapped in. */
static int failover_make_ready(struct share_client *client, struct client_path *path)
{
	struct timespec pause = timespec_of_ns(CALL_PAUSE_NS);
	__u64 begin = monotonic_ns();
	int err;

	while ((err = path_make_ready(client, path)) && client_call_again(err) &&
	       monotonic_ns() - begin < client->cluster->config->dead_ns)
		nanosleep(&pause, NULL);
	return err;
}

static void client_fail_all(struct share_client *client)
{
	for (__u32 i = 0; i < client->room; i++) {
		struct client_command *command = &client->commands[i];

		if (!command->taken)
			continue;
		client->queued -= command->queued;
		client->counts->unknown += command->queued;
		command->queued = false;
		client_done(client, command, -EIO, NULL);
	}
}

static int client_failover(struct share_client *client, enum failover_reason reason)
{
	struct client_path *old = &client->paths[client->active], *path;
	struct seen_failover seen = {.from_pair = old->queue, .reason = reason};
	__u64 begin = monotonic_ns();
	int err;

	path = failover_await(client);
	if (!path) {
		client_fail_all(client);
		return failed(-ENETUNREACH, "%s: no way to %s for %.3f s", client->config->name,
			      client->cluster->config->devices[client->device].name,
			      (double)client->cluster->config->dead_ns / 1e9);
	}
	client->link_events = ntb_link_events(client->cluster);
	err = path_settle(client, old, &seen);
	if (!err || (path != old && path->state == PATH_READY))
		err = failover_make_ready(client, path);
	if (err) {
		client_fail_all(client);
		return err;
	}
	if (reason == FAILOVER_TIMEOUT)
		seen.reason = path_reason(client, old, client->epoch);
	client->active = path->index;
	failover_told(client, path, &seen, begin, STEP_FAILOVER);
	return 1;
}

/* The primary's way is open again, and nothing is outstanding: back to it, in its old windows if they are still there. */
static int client_failback(struct share_client *client)
{
	struct client_path *first = &client->paths[0], *old = &client->paths[client->active];
	struct seen_failover seen = {.from_pair = old->queue,
				     .reason = path_mapped(client, first) ? FAILOVER_BACK
									  : FAILOVER_TABLES};
	__u64 begin = monotonic_ns();
	int err = failover_make_ready(client, first);

	client->returns = false;
	if (err)
		return 0; /* later: the backup is there */
	client->active = 0;
	failover_told(client, first, &seen, begin, STEP_FAILBACK);
	return 1;
}

/* The oldest of its commands has waited too long, and somebody could tell what became of it. */
static bool client_late(const struct share_client *client)
{
	__u64 now = monotonic_ns();

	for (__u32 i = 0; i < client->room; i++)
		if (client->commands[i].queued &&
		    now - client->commands[i].sent_ns > client->config->io_timeout_ns)
			return agent_state(client->cluster, client->manager) <= AGENT_RUNS ||
			       !path_mapped(client, &client->paths[client->active]);
	return false;
}

/* One change that leaves this way open was another link's; of several, any may have been this one's. */
static int client_link_changed(struct share_client *client, __u32 events)
{
	struct client_path *path = &client->paths[client->active];
	enum failover_reason reason = path_reason(client, path, path->epoch);

	if (reason != FAILOVER_TIMEOUT || events - client->link_events > 1)
		return client_failover(client, reason == FAILOVER_TIMEOUT ? FAILOVER_LINK : reason);
	client->link_events = events;
	for (__u32 i = 0; i < client->room; i++)
		if (client->commands[i].queued && client->commands[i].entry == path->tail) {
			client->commands[i].queued = false; /* no doorbell was rung for it */
			client->queued--;
		}
	return 0;
}

int client_watch(struct share_client *client)
{
	struct cluster *cluster = client->cluster;
	__u32 events = ntb_link_events(cluster);
	__u64 now;

	if (agent_state(cluster, client->lender) > AGENT_RUNS) {
		client_fail_all(client);
		return failed(-EHOSTDOWN, "%s: the host of %s is dead", client->config->name,
			      cluster->config->devices[client->device].name);
	}
	if (events != client->link_events && client->lender != cluster->host)
		return client_link_changed(client, events);
	if (client_late(client))
		return client_failover(client, FAILOVER_TIMEOUT);
	if (!client->active)
		return 0;
	now = monotonic_ns();
	client->returns = path_reaches(client, &client->paths[0]) && now >= client->return_ns;
	if (!client->returns || client->queued)
		return 0;
	client->return_ns = now + cluster->config->dead_ns / 4;
	return client_failback(client);
}
