// SPDX-License-Identifier: GPL-2.0
/* The guest's requests: taken, timed, filtered, carried out, answered, told. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "injectors/emu/hyv/hyv_host_private.h"

#define ALL_RIGHTS   (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define RIGHTS_SHIFT 8			 /* of VERBS_REGISTER_PAGES */
#define BELIEVED_NS  (60 * NSEC_PER_SEC) /* how long ago a guest may say that it called */

/* Its answer names something new. */
static bool creates_object(__u16 kind)
{
	switch (kind) {
	case VERBS_REGISTER:
	case VERBS_REGISTER_PAGES:
	case VERBS_CREATE_CQ:
	case VERBS_CREATE_QP:
	case VERBS_CREATE_QP_OF:
	case VERBS_CREATE_SRQ:
	case VERBS_CREATE_CHANNEL:
	case VERBS_ALLOC_PD:
		return true;
	default:
		return false;
	}
}

static bool asks_for_something(__u16 kind)
{
	return creates_object(kind) || kind == VERBS_MODIFY_QP || kind == VERBS_MAP_RESOURCE;
}

/* What it wants to do to a region, and of what kind that is; false: it is about none. */
static bool region_wanted(const struct verbs_command *command, __u64 *kind, __u64 *rights)
{
	if (command->kind == VERBS_REGISTER) {
		*kind = command->argument[2];
		*rights = command->argument[3];
		return true;
	}
	*kind = (__u8)command->argument[2];
	*rights = command->argument[2] >> RIGHTS_SHIFT;
	return command->kind == VERBS_REGISTER_PAGES;
}

/* Before anything is looked at, let alone done. What only the command's check can know comes with that. */
static int filter(struct hyv_host *host, const struct verbs_command *command)
{
	unsigned int allowed = host->tenant->config.quota.rights;
	__u64 kind, rights;

	if (asks_for_something(command->kind) &&
	    inject_fire(host->injections, INJECT_VETO, host->config.backend.index)) {
		host_count(host, &host->stats.refused_injected, 1);
		return -EPERM;
	}
	if (!region_wanted(command, &kind, &rights))
		return 0;
	if (allowed && rights & ALL_RIGHTS & ~(__u64)allowed) {
		host_count(host, &host->stats.refused_rights, 1);
		return -EPERM;
	}
	/* There is no page fault but in mode odp. */
	return kind != VERBS_PINNED && host->config.mode == RDMA_MODE_HYBRID ? -EOPNOTSUPP : 0;
}

/* Who has what a command takes besides what is told by itself. */
static enum verb_stage last_stage(__u16 kind)
{
	return kind == VERBS_MODIFY_QP || kind == VERBS_QUERY_QP || kind == VERBS_POST
		       ? VERB_INSTALL
		       : VERB_DRIVER;
}

static int carry_out(struct hyv_host *host, struct virtqueue_chain *chain,
		     struct verbs_command *command)
{
	struct verbs_backend *backend = host->backend;
	int error = filter(host, command);

	host_stage(host, VERB_FILTER);
	if (error)
		return error;
	backend->list = chain->list;
	backend->listed = chain->listed;
	error = backend_command(backend, command);
	backend->list = NULL;
	backend->listed = 0;
	host_stage(host, last_stage(command->kind));
	return error;
}

/* Times of the guest's, if they can be: in order, and not long ago. Else the verb began as it was taken. */
static __u64 guest_times(struct hyv_host *host, const struct verbs_request *request)
{
	struct hyv_current *current = &host->current;
	__u64 now_ns = current->mark_ns;

	if (request->called_ns > request->queued_ns || request->queued_ns > request->kicked_ns ||
	    request->kicked_ns > now_ns || now_ns - request->called_ns > BELIEVED_NS)
		return now_ns;
	current->stage_ns[VERB_SYSCALL] = request->queued_ns - request->called_ns;
	current->stage_ns[VERB_QUEUE] = request->kicked_ns - request->queued_ns;
	current->stage_ns[VERB_KICK] = now_ns - request->kicked_ns;
	return request->called_ns;
}

/* The verb before: it says when its caller went on. */
static void woken(struct hyv_host *host, const struct verbs_request *request)
{
	const struct hyv_host_config *config = &host->config;

	for (__u32 i = 0; request->last_token && i < HYV_QUEUE_ENTRIES; i++) {
		struct hyv_answered *answered = &host->guest.answered[i];
		__u64 woken_ns = request->last_woken_ns;

		if (answered->token != request->last_token)
			continue;
		answered->token = 0;
		if (woken_ns < answered->injected_ns || woken_ns > host->current.mark_ns)
			return;
		pthread_mutex_lock(&host->lock);
		host->stats.stage_ns[answered->kind][VERB_WAKE] += woken_ns - answered->injected_ns;
		pthread_mutex_unlock(&host->lock);
		observe_verb_woken(config->backend.index, config->tenant,
				   (__u32)request->last_token, answered->kind,
				   woken_ns - answered->injected_ns, woken_ns);
		return;
	}
}

static void request_remember(struct hyv_guest *guest, __u64 token, enum verbs_command_kind kind,
			     __u64 injected_ns)
{
	guest->answered[guest->next_answered++ % HYV_QUEUE_ENTRIES] =
		(struct hyv_answered){token, injected_ns, kind};
}

static void request_answer(struct hyv_host *host, const struct virtqueue_chain *chain,
			   const struct verbs_command *command, int error)
{
	const struct verbs_answer words = {.error = error,
					   .result = {command->result[0], command->result[1]}};
	struct hyv_guest *guest = &host->guest;

	if (virtqueue_host_answer(&guest->queue, chain, &words)) {
		host_count(host, &host->stats.exits[EXIT_INJECT_CONTROL], 1);
		atomic_fetch_add(&guest->shared->injections, 1);
		(void)eventfd_write(guest->inject, 1);
	}
	host_stage(host, VERB_REPLY);
}

static __u32 object_of(const struct verbs_command *command)
{
	return (__u32)(creates_object(command->kind) ? command->result[0] : command->argument[0]);
}

/* A kind that there is not is told of as none. */
static void request_tell(struct hyv_host *host, const struct verbs_request *request,
			 const struct verbs_command *command, int error, __u64 start_ns)
{
	const struct hyv_current *current = &host->current;
	enum verbs_command_kind kind =
		command->kind < VERBS_COMMAND_KINDS ? (enum verbs_command_kind)command->kind : 0;
	struct verb_told told = {
		.device = host->config.backend.index,
		.tenant = host->config.tenant,
		.token = (__u32)request->token,
		.kind = kind,
		.error = error,
		.bytes = current->bytes,
		.key = object_of(command),
		.runs = current->runs,
		.start_ns = start_ns,
	};

	memcpy(told.stage_ns, current->stage_ns, sizeof(told.stage_ns));
	pthread_mutex_lock(&host->lock);
	host->stats.verbs[kind]++;
	host->stats.refused[kind] += error < 0;
	host->stats.exits[EXIT_FORWARDED_POST] += kind == VERBS_POST;
	for (int i = 0; i < VERB_STAGES; i++)
		host->stats.stage_ns[kind][i] += current->stage_ns[i];
	pthread_mutex_unlock(&host->lock);
	if (kind)
		observe_verb(&told);
	request_remember(&host->guest, request->token, kind, current->mark_ns);
}

/* By the command ring there is no way through the hypervisor: a verb begins as its command is taken. */
void host_stepped(void *argument, enum verbs_ring_step step, const struct verbs_command *command,
		  __u32 token)
{
	const struct verbs_request request = {.token = token};
	struct hyv_host *host = argument;

	if (step == VERBS_RING_TAKEN) {
		host->current = (struct hyv_current){.mark_ns = monotonic_ns()};
		host->current.start_ns = host->current.mark_ns;
	} else if (step == VERBS_RING_CARRIED_OUT) {
		host_stage(host, last_stage(command->kind));
	} else {
		host_stage(host, VERB_REPLY);
		request_tell(host, &request, command, command->error, host->current.start_ns);
	}
}

static void request_serve(struct hyv_host *host, struct virtqueue_chain *chain)
{
	struct verbs_command command = chain->request.command;
	__u64 taken_ns = monotonic_ns(), start_ns;
	int error = chain->error;

	host_may_kill(host);
	host->current = (struct hyv_current){.mark_ns = taken_ns};
	start_ns = guest_times(host, &chain->request);
	woken(host, &chain->request);
	command.result[0] = command.result[1] = 0;
	if (!error)
		error = carry_out(host, chain, &command);
	request_answer(host, chain, &command, error);
	backend_count(host->backend, command.kind, error, monotonic_ns() - taken_ns);
	request_tell(host, &chain->request, &command, error, start_ns);
}

int requests_serve(struct hyv_host *host)
{
	struct virtqueue_chain chain = {.list = host->list};
	int taken = 0;

	while (!atomic_load(&host->stopping) && !atomic_load(&host->evict)) {
		taken = virtqueue_host_take(&host->guest.queue, &chain);
		if (taken <= 0)
			break;
		request_serve(host, &chain);
	}
	return taken < 0 ? taken : 0;
}

void host_tell_exits(struct hyv_host *host)
{
	struct hyv_stats stats;

	hyv_host_stats(host, &stats);
	observe_exits(host->config.backend.index, host->config.tenant, stats.exits);
}
