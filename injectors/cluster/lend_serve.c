// SPDX-License-Identifier: GPL-2.0
/* The lender's side: grants, windows, config cycles, and what it takes back. All of it in the lender's process, by turns. */
#include <errno.h>
#include <pthread.h>

#include "injectors/cluster/lend_private.h"
#include "injectors/cluster/nvme.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* Of this process's threads; taking back may release a peer window, which is another of these calls. */
static pthread_mutex_t lend_turn = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void lend_lock(void)
{
	pthread_mutex_lock(&lend_turn);
}

void lend_unlock(void)
{
	pthread_mutex_unlock(&lend_turn);
}

static void function_state_set(struct cluster *cluster, __u32 function, enum lend_state state)
{
	__atomic_store_n(&cluster->lends->functions[function].state, state, __ATOMIC_RELEASE);
}

static int lend_deny(struct cluster *cluster, __u32 function, __u32 borrower)
{
	enum lend_state state = lend_state(cluster, function);
	const struct lend_record *record =
		lend_record(cluster, cluster->lends->functions[function].number);
	int err;

	if (state == LEND_UNREGISTERED || state == LEND_LOST)
		err = failed(-ENODEV, "%s is not registered", lend_name(cluster, function));
	else
		err = failed(-EBUSY, "%s is %s %s; accepted: once it was returned and reset",
			     lend_name(cluster, function),
			     state == LEND_RESETTING ? "not yet back from" : "lent to",
			     record ? cluster->config->hosts[record->borrow.borrower].name
				    : "nobody");
	lend_step_of(cluster, STEP_DENY, function, borrower, err);
	return err;
}

static struct lend_record *record_issue(struct cluster *cluster)
{
	struct lends *lends = cluster->lends;
	__u32 number = __atomic_load_n(&lends->issued, __ATOMIC_ACQUIRE);

	do {
		if (number >= LEND_BORROWS_MAX)
			return NULL;
	} while (!__atomic_compare_exchange_n(&lends->issued, &number, number + 1, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	lends->records[number].borrow.number = number + 1;
	return &lends->records[number];
}

/* words: function, flags (1 shared, 2 guest), adapter; answer: number, adapter. */
static int lend_grant(struct cluster *cluster, struct message *message)
{
	__u32 function = message->words[0], adapter = CLUSTER_NONE;
	const struct agent_info *asker = agent_info(cluster, message->from);
	__u64 begin = monotonic_ns();
	struct nvme_stats stats = {0};
	struct lend_record *record;
	int err = 0;

	if (!asker || function >= FUNCTIONS_MAX ||
	    function_host(cluster, function) != cluster->host)
		return failed(-EINVAL, "function %u is none of this host's", function);
	record = lend_record(cluster, cluster->lends->functions[function].number);
	if (record && lend_orphaned(cluster, record))
		lend_end_orphan(cluster, record);
	if (lend_state(cluster, function) != LEND_AVAILABLE)
		return lend_deny(cluster, function, asker->host);
	if (asker->host != cluster->host)
		err = lend_adapter(
			cluster, cluster->host,
			cluster->config->devices[function_device(cluster, function)].node,
			asker->host, message->words[2], &adapter);
	if (err)
		return err;
	record = record_issue(cluster);
	if (!record)
		return failed(-ENOSPC, "all %u borrows of a run are used up", LEND_BORROWS_MAX);
	record->borrow.function = function;
	record->borrow.lender = cluster->host;
	record->borrow.borrower = asker->host;
	record->borrow.agent = message->from;
	record->borrow.shared = message->words[1] & 1;
	record->borrow.guest = message->words[1] & 2;
	record->borrow.lender_adapter = adapter;
	record->borrow.borrower_adapter = CLUSTER_NONE;
	record->lender_life = agent_life(cluster, cluster->host);
	record->borrower_life = agent_life(cluster, message->from);
	record->granted_ns = begin;
	nvme_stats(cluster, function, &stats);
	record->intx_base = stats.interrupts_masked;
	__atomic_store_n(&record->word, RECORD_WORD(RECORD_GRANTED, LEND_END_NONE),
			 __ATOMIC_RELEASE);
	cluster->lends->functions[function].number = record->borrow.number;
	function_state_set(cluster, function, LEND_GRANTED);
	lend_step(cluster, STEP_GRANT, record, 0, begin, 0);
	message->words[0] = record->borrow.number;
	message->words[1] = adapter;
	return 0;
}

int lend_serve_borrow(struct cluster *cluster, struct message *message)
{
	int err;

	lend_lock();
	err = lend_grant(cluster, message);
	lend_unlock();
	return err;
}

/* Whose message it is, of a borrow that lasts. */
static int lend_of(struct cluster *cluster, const struct message *message,
		   struct lend_record **record)
{
	const struct agent_info *asker = agent_info(cluster, message->from);
	__u32 phase;

	*record = lend_record(cluster, message->words[0]);
	if (!*record || !asker || (*record)->borrow.lender != cluster->host)
		return failed(-ENOENT, "borrow %llu is none of this host's",
			      (unsigned long long)message->words[0]);
	phase = RECORD_PHASE(lend_word(*record));
	if (phase != RECORD_GRANTED && phase != RECORD_LIVE)
		return failed(-ENODEV, "borrow %u of %s %s", (*record)->borrow.number,
			      lend_name(cluster, (*record)->borrow.function),
			      lend_end_text(RECORD_END(lend_word(*record))));
	return 0;
}

static void lend_name_user(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;

	access_user_set(cluster, function_device(cluster, borrow->function), borrow->agent, true);
	__atomic_store_n(&record->user_named, 1, __ATOMIC_RELEASE);
}

static int lend_domain(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	__u32 requester = REQUESTER_FUNCTION(borrow->function), domain;
	__u64 begin = monotonic_ns();
	int err = 0;

	if (!lend_is_local(record)) {
		err = ntb_requester_add(cluster, borrow->lender_adapter, borrow->borrower,
					requester, cluster->self);
		if (!err)
			__atomic_store_n(&record->requester_held, 1, __ATOMIC_RELEASE);
	}
	if (!err && cluster->config->hosts[cluster->host].iommu) {
		err = host_iommu_domain_create(cluster, cluster->host, &domain);
		if (!err) {
			record->borrow.lender_domain = domain;
			__atomic_store_n(&record->lender_domain, domain, __ATOMIC_RELEASE);
			err = host_iommu_attach(cluster, cluster->host, requester, domain);
		}
	}
	if (!err) {
		function_borrow_set(cluster, borrow->function, borrow->number);
		lend_name_user(cluster, record);
	}
	lend_step(cluster, STEP_DOMAIN, record, record->borrow.lender_domain, begin, err);
	return err;
}

static struct held_window *lend_window_slot(struct lend_record *record)
{
	for (__u32 i = 0; i < LEND_LENDER_WINDOWS; i++)
		if (!__atomic_load_n(&record->lender_windows[i].held, __ATOMIC_ACQUIRE))
			return &record->lender_windows[i];
	return NULL;
}

static __u64 function_mask(const struct cluster *cluster, __u32 function)
{
	__u32 bits = cluster->config->devices[function_device(cluster, function)].address_bits;

	return bits && bits < 64 ? (1ull << bits) - 1 : ~0ull;
}

/* Of the host's own bus or through an adapter, and in the function's domain at the same address. */
static int lend_window_make(struct cluster *cluster, const struct lend_record *record,
			    struct ntb_window *window)
{
	const struct lend_borrow *borrow = &record->borrow;
	struct ntb_window wanted = *window;
	__u64 mask = function_mask(cluster, borrow->function);
	int err = 0;

	if (wanted.far_host == cluster->host) {
		window->address = wanted.far;
		window->adapter = CLUSTER_NONE;
		if (wanted.far + wanted.bytes - 1 > mask)
			err = failed(-ERANGE, "%s cannot make address %#llx",
				     lend_name(cluster, borrow->function),
				     (unsigned long long)wanted.far);
	} else {
		err = ntb_map(cluster, &wanted, mask, window);
	}
	if (err || !borrow->lender_domain || borrow->guest)
		return err;
	err = host_iommu_map(cluster, cluster->host, borrow->lender_domain,
			     window->address & ~(__u64)(HOST_PAGE - 1),
			     window->address & ~(__u64)(HOST_PAGE - 1),
			     window->bytes + (window->address & (HOST_PAGE - 1)),
			     HOST_IOMMU_READ | HOST_IOMMU_WRITE,
			     function_device(cluster, borrow->function));
	if (err && window->adapter != CLUSTER_NONE)
		ntb_unmap(cluster, window);
	return err;
}

static int lend_map(struct cluster *cluster, struct lend_record *record, enum window_kind kind,
		    __u32 far_host, __u64 far, __u64 bytes, __u64 *address)
{
	const struct lend_borrow *borrow = &record->borrow;
	struct held_window *slot = lend_window_slot(record);
	__u32 adapter = borrow->lender_adapter,
	      node = cluster->config->devices[function_device(cluster, borrow->function)].node;
	bool other = far_host != borrow->borrower && far_host != cluster->host;
	int err = 0;

	if (!slot)
		return failed(-ENOSPC, "%u windows of borrow %u are in use", LEND_LENDER_WINDOWS,
			      borrow->number);
	if (far_host >= cluster->config->host_count || !bytes || far + bytes < far)
		return failed(-EINVAL, "host %u, address %#llx, %llu bytes: no such memory",
			      far_host, (unsigned long long)far, (unsigned long long)bytes);
	if (other) {
		err = lend_adapter(cluster, cluster->host, node, far_host, CLUSTER_NONE, &adapter);
		err = err
			      ?: ntb_requester_add(cluster, adapter, far_host,
						   REQUESTER_FUNCTION(borrow->function),
						   cluster->self);
	}
	if (err)
		return err;
	slot->window = (struct ntb_window){.adapter = adapter,
					   .kind = kind,
					   .far_host = far_host,
					   .far = far,
					   .bytes = bytes,
					   .owner = cluster->self,
					   .borrow = borrow->number};
	err = lend_window_make(cluster, record, &slot->window);
	if (err && other)
		ntb_requester_remove(cluster, adapter, far_host,
				     REQUESTER_FUNCTION(borrow->function));
	if (err)
		return err;
	__atomic_store_n(&slot->held, other ? HELD_WITH_ENTRY : 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&record->counts.lender_windows, 1, __ATOMIC_RELAXED);
	*address = slot->window.address;
	return 0;
}

/* The borrow is complete with it. */
static int lend_map_msi(struct cluster *cluster, struct lend_record *record)
{
	struct lend_borrow *borrow = &record->borrow;
	__u32 word = RECORD_WORD(RECORD_GRANTED, LEND_END_NONE);
	__u64 begin = monotonic_ns();
	int err = 0;

	if (!borrow->guest && !lend_is_local(record)) {
		err = lend_map(cluster, record, WINDOW_MSI, borrow->borrower,
			       MSI_ADDRESS + (__u64)HOST_PAGE * borrow->function, HOST_PAGE,
			       &borrow->msi_device);
		lend_step(cluster, STEP_MSI_WINDOW, record, borrow->msi_device, begin, err);
	}
	if (err)
		return err;
	if (!lend_is_local(record))
		record->generations[1] = ntb_generation(cluster, borrow->lender_adapter);
	if (!record->user_named) /* a host's own driver has no use for LEND_OP_DOMAIN */
		lend_name_user(cluster, record);
	/* In this order: nobody takes a live borrow for one of a function that is but granted. */
	function_state_set(cluster, borrow->function, LEND_MAPPED);
	if (!__atomic_compare_exchange_n(&record->word, &word,
					 RECORD_WORD(RECORD_LIVE, LEND_END_NONE), false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return failed(-ENODEV, "borrow %u %s", borrow->number,
			      lend_end_text(RECORD_END(word)));
	return 0;
}

static int lend_drop_window(struct cluster *cluster, struct lend_record *record, __u64 address)
{
	for (__u32 i = 0; i < LEND_LENDER_WINDOWS; i++) {
		struct held_window *slot = &record->lender_windows[i];

		if (__atomic_load_n(&slot->held, __ATOMIC_ACQUIRE) &&
		    slot->window.address == address && slot->window.kind != WINDOW_DMA &&
		    slot->window.kind != WINDOW_MSI) {
			lend_drop_lender_window(cluster, record, slot);
			return 0;
		}
	}
	return failed(-ENOENT, "borrow %u has no window at %#llx", record->borrow.number,
		      (unsigned long long)address);
}

/* words: number, enum lend_windows, kind, far host, far, bytes, address; answer: address in words[6]. */
static int lend_window_op(struct cluster *cluster, struct message *message)
{
	__u64 *words = message->words, begin = monotonic_ns();
	struct lend_record *record;
	int err = lend_of(cluster, message, &record);

	if (err)
		return err;
	switch (words[1]) {
	case LEND_OP_DOMAIN:
		return lend_domain(cluster, record);
	case LEND_OP_DMA:
		err = lend_map(cluster, record, WINDOW_DMA, record->borrow.borrower, words[4],
			       words[5], &words[6]);
		lend_step(cluster, STEP_DMA_WINDOW, record, err ? 0 : words[6], begin, err);
		return err;
	case LEND_OP_MSI:
		return lend_map_msi(cluster, record);
	case LEND_OP_MORE:
		err = lend_map(cluster, record, words[2], words[3], words[4], words[5], &words[6]);
		if (words[2] == WINDOW_PEER)
			lend_step(cluster, STEP_PEER_WINDOW, record, err ? 0 : words[6], begin,
				  err);
		return err;
	case LEND_OP_DROP:
		return lend_drop_window(cluster, record, words[6]);
	default:
		return failed(-EINVAL, "windows %llu: accepted: 0 to %d",
			      (unsigned long long)words[1], LEND_OP_DROP);
	}
}

int lend_serve_windows(struct cluster *cluster, struct message *message)
{
	int err;

	lend_lock();
	err = lend_window_op(cluster, message);
	lend_unlock();
	return err;
}

int lend_serve_peer(struct cluster *cluster, struct message *message)
{
	message->words[1] = LEND_OP_MORE;
	message->words[2] = WINDOW_PEER;
	return lend_serve_windows(cluster, message);
}

/* words: number, enum lend_config, offset, bytes, value; answer: value in words[4], or BARs from there on. */
int lend_serve_config(struct cluster *cluster, struct message *message)
{
	struct lend_record *record;
	__u64 *words = message->words;
	int err = lend_of(cluster, message, &record);
	__u32 function;

	if (err)
		return err;
	function = record->borrow.function;
	if (words[2] + words[3] > FUNCTION_CONFIG || words[3] > 4)
		return failed(-EINVAL,
			      "config space has %d bytes, of which %llu to %llu are asked for",
			      FUNCTION_CONFIG, (unsigned long long)words[2],
			      (unsigned long long)(words[2] + words[3]));
	if (words[1] == LEND_CONFIG_WRITE)
		function_config_write(cluster, function, words[2], words[3], words[4]);
	else if (words[1] == LEND_CONFIG_READ)
		words[4] = function_config_read(cluster, function, words[2], words[3]);
	else
		for (__u32 bar = 0; bar < FUNCTION_BARS; bar++) {
			words[4 + 2 * bar] = function_bar_address(cluster, function, bar);
			words[5 + 2 * bar] = function_bar_bytes(cluster, function, bar);
		}
	return 0;
}

int lend_serve_return(struct cluster *cluster, struct message *message)
{
	struct lend_record *record = lend_record(cluster, message->words[0]);

	if (!record || record->borrow.lender != cluster->host)
		return failed(-ENOENT, "borrow %llu is none of this host's",
			      (unsigned long long)message->words[0]);
	lend_lock();
	lend_end(cluster, record, LEND_END_RETURNED);
	lend_take_back(cluster, record);
	lend_unlock();
	return 0;
}

/* On the borrower: to be told to whoever uses it. */
int lend_serve_revoke(struct cluster *cluster, struct message *message)
{
	struct lend_record *record = lend_record(cluster, message->words[0]);

	if (record && record->borrow.borrower == cluster->host)
		__atomic_store_n(&record->asked_back, 1, __ATOMIC_RELEASE);
	return 0;
}
