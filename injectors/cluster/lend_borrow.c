// SPDX-License-Identifier: GPL-2.0
/* The borrower's side, in the order of PV 4.1 to 4.3: grant, config space, domains, BARs, DMA window, MSI window; and back. */
#include <errno.h>
#include <string.h>

#include "injectors/cluster/lend_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

int lend_ask(struct cluster *cluster, __u32 number, __u32 host, struct message *message)
{
	struct lend_record *record = lend_record(cluster, number);

	if (record)
		__atomic_fetch_add(&record->counts.messages, 1, __ATOMIC_RELAXED);
	return message_call(cluster, host, message, 0);
}

static int borrow_grant(struct cluster *cluster, const struct lend_wish *wish,
			struct lend_record **record)
{
	__u32 lender = function_host(cluster, wish->function);
	struct message message = {
		.type = MESSAGE_LEND_BORROW,
		.words = {wish->function, wish->shared | wish->guest << 1, wish->adapters[1]}};
	int err;

	lend_step_of(cluster, STEP_REQUEST, wish->function, lender, 0);
	err = message_call(cluster, lender, &message, 0);
	if (err)
		return err;
	*record = lend_record(cluster, message.words[0]);
	if (!*record || (*record)->borrow.agent != cluster->self ||
	    (*record)->borrow.function != wish->function)
		return failed(
			-EPROTO, "%s has granted borrow %llu, which is none of this process's",
			cluster->config->hosts[lender].name, (unsigned long long)message.words[0]);
	(*record)->counts.messages = 1;
	__atomic_store_n(&(*record)->known, 1, __ATOMIC_RELEASE);
	return 0;
}

static int borrow_config(struct cluster *cluster, struct lend_record *record, struct message *bars)
{
	const struct lend_borrow *borrow = &record->borrow;
	__u64 begin = monotonic_ns();
	int err;

	*bars = (struct message){.type = MESSAGE_LEND_CONFIG,
				 .words = {borrow->number, LEND_CONFIG_BARS}};
	err = lend_ask(cluster, borrow->number, borrow->lender, bars);
	lend_step(cluster, STEP_CONFIG, record, 0, begin, err);
	return err;
}

static int borrow_op(struct cluster *cluster, const struct lend_record *record,
		     enum lend_windows op, __u64 far, __u64 bytes, __u64 *address)
{
	struct message message = {.type = MESSAGE_LEND_WINDOWS,
				  .words = {record->borrow.number, op, 0, 0, far, bytes}};
	int err = lend_ask(cluster, record->borrow.number, record->borrow.lender, &message);

	if (!err && address)
		*address = message.words[6];
	return err;
}

/* What comes in on behalf of the device is in a domain of the borrow before anything can come. */
static int borrow_domain(struct cluster *cluster, struct lend_record *record)
{
	struct lend_borrow *borrow = &record->borrow;
	__u32 domain, seen;
	int err = borrow_op(cluster, record, LEND_OP_DOMAIN, 0, 0, NULL);

	if (err || lend_is_local(record) || !cluster->config->hosts[cluster->host].iommu)
		return err;
	seen = ntb_requester_seen(cluster, borrow->lender_adapter, borrow->borrower,
				  REQUESTER_FUNCTION(borrow->function));
	if (seen == CLUSTER_NONE)
		return failed(-ENODEV, "the requester entry of %s is gone",
			      lend_name(cluster, borrow->function));
	err = host_iommu_domain_create(cluster, cluster->host, &domain);
	if (err)
		return err;
	borrow->borrower_domain = domain;
	__atomic_store_n(&record->borrower_domain, domain, __ATOMIC_RELEASE);
	record->seen_requester = seen;
	__atomic_store_n(&record->seen_attached, 1, __ATOMIC_RELEASE);
	return host_iommu_attach(cluster, cluster->host, seen, domain);
}

static int borrow_bar(struct cluster *cluster, struct lend_record *record, __u32 bar, __u64 far,
		      __u64 bytes)
{
	struct lend_borrow *borrow = &record->borrow;
	struct ntb_window wanted = {.adapter = borrow->borrower_adapter,
				    .kind = WINDOW_BAR,
				    .far_host = borrow->lender,
				    .far = far,
				    .bytes = bytes,
				    .owner = cluster->self,
				    .borrow = borrow->number};
	int err = ntb_map(cluster, &wanted, ~0ull, &record->bars[bar].window);

	if (err)
		return err;
	__atomic_store_n(&record->bars[bar].held, 1, __ATOMIC_RELEASE);
	borrow->bars[bar] = record->bars[bar].window.address;
	return 0;
}

static int borrow_bars(struct cluster *cluster, struct lend_record *record,
		       const struct lend_wish *wish, const struct message *bars)
{
	struct lend_borrow *borrow = &record->borrow;
	__u64 begin = monotonic_ns();
	int err = 0;

	if (!lend_is_local(record)) {
		err = lend_adapter(cluster, cluster->host,
				   cluster->config->hosts[cluster->host].root, borrow->lender,
				   wish->adapters[0], &borrow->borrower_adapter);
		if (!err)
			record->generations[0] = ntb_generation(cluster, borrow->borrower_adapter);
	}
	for (__u32 bar = 0; !err && bar < FUNCTION_BARS; bar++) {
		const __u64 *word = &bars->words[4 + 2 * bar];

		if (!word[1])
			continue;
		if (lend_is_local(record))
			borrow->bars[bar] = word[0];
		else
			err = borrow_bar(cluster, record, bar, word[0], word[1]);
	}
	lend_step(cluster, STEP_BARS, record, borrow->bars[0], begin, err);
	return err;
}

static int borrow_window(struct cluster *cluster, struct lend_record *record,
			 const struct lend_wish *wish)
{
	const struct host_config *host = &cluster->config->hosts[cluster->host];
	struct lend_borrow *borrow = &record->borrow;

	if (wish->guest || lend_is_local(record))
		return 0;
	if (!wish->window || wish->window % HOST_PAGE)
		return failed(-EINVAL, "window=%llu: accepted: a multiple of %u",
			      (unsigned long long)wish->window, HOST_PAGE);
	if (!host->iommu && wish->window < host->memory)
		return failed(-EINVAL,
			      "window=%llu: %s has no IOMMU, so it must cover all of its memory; "
			      "accepted: at least %llu",
			      (unsigned long long)wish->window, host->name,
			      (unsigned long long)host->memory);
	borrow->dma_far = host->iommu ? LEND_IOVA : 0;
	borrow->dma_bytes = host->iommu ? wish->window : host->memory;
	return borrow_op(cluster, record, LEND_OP_DMA, borrow->dma_far, borrow->dma_bytes,
			 &borrow->dma_device);
}

static int borrow_steps(struct cluster *cluster, const struct lend_wish *wish,
			struct lend_record *record)
{
	struct message bars;
	int err = borrow_config(cluster, record, &bars);

	/* A host's own driver needs neither: bus_local.c. */
	if (!err && (!lend_is_local(record) || wish->shared || wish->guest))
		err = borrow_domain(cluster, record);
	err = err ?: borrow_bars(cluster, record, wish, &bars);
	err = err ?: borrow_window(cluster, record, wish);
	return err ?: borrow_op(cluster, record, LEND_OP_MSI, 0, 0, NULL);
}

/* Nothing is left of it here; its lender is told, or finds out. */
static int borrow_leave(struct cluster *cluster, struct lend_record *record)
{
	struct message message = {.type = MESSAGE_LEND_RETURN, .words = {record->borrow.number}};

	lend_drop_borrower(cluster, record);
	lend_drop_bars(cluster, record);
	lend_step(cluster, STEP_REMOVE, record, 0, 0, 0);
	return lend_ask(cluster, record->borrow.number, record->borrow.lender, &message);
}

int lend_borrow(struct cluster *cluster, const struct lend_wish *wish, struct lend_borrow *borrow)
{
	__u64 begin = monotonic_ns();
	struct lend_record *record;
	char why[160];
	int err;

	if (wish->function >= FUNCTIONS_MAX || cluster->host >= cluster->config->host_count)
		return failed(-EINVAL, "function %u is none that a host can borrow",
			      wish->function);
	err = borrow_grant(cluster, wish, &record);
	if (err)
		return err;
	err = borrow_steps(cluster, wish, record);
	if (err) {
		strncpy(why, failure_text(), sizeof(why) - 1);
		why[sizeof(why) - 1] = '\0';
		lend_end(cluster, record, LEND_END_FAILED);
		borrow_leave(cluster, record);
		return failed(err, "%s", why);
	}
	record->counts.borrow_ns = monotonic_ns() - begin;
	*borrow = record->borrow;
	return 0;
}

int lend_return(struct cluster *cluster, struct lend_borrow *borrow)
{
	struct lend_record *record = lend_record(cluster, borrow->number);

	if (!record || record->borrow.agent != cluster->self)
		return failed(-ENOENT, "borrow %u is none of this process's", borrow->number);
	/* Its driver may have noticed before whoever looks after it. */
	if (!lend_agent_lives(cluster, borrow->lender, record->lender_life))
		lend_end_told(cluster, record, LEND_END_LENDER_DEAD, STEP_LENDER_DEAD, -EHOSTDOWN);
	if (lend_wiped(cluster, record))
		lend_end_told(cluster, record, LEND_END_WIPED, STEP_REVOKED, -ENODEV);
	if (lend_end(cluster, record, LEND_END_RETURNED))
		return borrow_leave(cluster, record);
	/* It was ended by others, who know: only this side is left. */
	lend_drop_borrower(cluster, record);
	lend_drop_bars(cluster, record);
	lend_step(cluster, STEP_REMOVE, record, 0, 0, 0);
	return 0;
}

static int window_message(struct cluster *cluster, const struct lend_borrow *borrow,
			  struct message *message)
{
	message->type = MESSAGE_LEND_WINDOWS;
	message->words[0] = borrow->number;
	return lend_ask(cluster, borrow->number, borrow->lender, message);
}

int lend_window(struct cluster *cluster, struct lend_borrow *borrow, enum window_kind kind,
		__u32 far_host, __u64 far, __u64 bytes, __u64 *device_address)
{
	struct message message = {.words = {0, LEND_OP_MORE, kind, far_host, far, bytes}};
	int err = window_message(cluster, borrow, &message);

	if (!err)
		*device_address = message.words[6];
	return err;
}

int lend_window_drop(struct cluster *cluster, const struct lend_borrow *borrow,
		     __u64 device_address)
{
	struct message message = {.words = {0, LEND_OP_DROP, [6] = device_address}};

	return window_message(cluster, borrow, &message);
}
