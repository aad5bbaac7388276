// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/turns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/fail.h"

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define DOUBLINGS_MAX 5 /* of a burst */
#define TURN_MAX      (1u << 20)

/* log2(value) in 1/2^32, by squaring: value is 1 to 2^32 - 1. */
static __u64 log2_fixed(__u32 value)
{
	unsigned int whole = 31 - (unsigned int)__builtin_clz(value);
	__u64 mantissa = (__u64)value << (63 - whole), result = (__u64)whole << 32;

	for (unsigned int bit = 32; bit-- > 0;) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa;

		if (square >> 127) {
			result |= 1ull << bit;
			mantissa = (__u64)(square >> 64);
		} else {
			mantissa = (__u64)(square >> 63);
		}
	}
	return result;
}

/* 2^40 / 2^(power / 2^32), by square roots of two. */
static __u64 power_below(__u64 power)
{
	/* 2^(-1/2), 2^(-1/4), ... in 1/2^64 */
	static const __u64 roots[] = {
		0xb504f333f9de6484ull, 0xd744fccad69d6af4ull, 0xeac0c6e7dd24392eull,
		0xf5257d152486cc2cull, 0xfa83b2db722a033aull, 0xfd3e0c0cf486c174ull,
		0xfe9e115c7b8f884bull, 0xff4ecb59511ec8a5ull, 0xffa756521c8daed1ull,
		0xffd3a751c0f7e10bull, 0xffe9d2b2f7db2755ull, 0xfff4e91bff1b8c3dull,
		0xfffa747ea0040664ull, 0xfffd3a3b7814eb53ull, 0xfffe9d1cc60ddab1ull,
		0xffff4e8e25879bfaull,
	};
	unsigned int whole = (unsigned int)(power >> 32);
	__u64 result = 1ull << 40;

	if (whole >= 40)
		return 1;
	for (size_t i = 0; i < COUNT(roots); i++)
		if (power >> (31 - i) & 1)
			result = (__u64)((unsigned __int128)result * roots[i] >> 64);
	return (result >> whole) ?: 1;
}

static __u32 share_of(const struct turns *t, __u32 tenant)
{
	return t->config.share_count ? t->config.shares[tenant % t->config.share_count] : 1;
}

/* Below 2^40 * 2^16 tenants * 100. */
static void make_chances(struct turns *t)
{
	bool zipf = t->config.order == ORDER_ZIPF;
	__u64 sum = 0;

	for (__u32 i = 0; i < t->config.tenants; i++) {
		__u64 chance =
			zipf ? power_below(log2_fixed(i + 1) * t->config.zipf_exponent / 100) : 1;

		sum += chance * share_of(t, i);
		t->chances[i] = sum;
	}
}

static __u32 draw_tenant(struct turns *t)
{
	__u32 low = 0, high = t->config.tenants - 1;
	__u64 drawn;

	if (!t->chances)
		return random_below(&t->random, t->config.tenants);
	drawn = random_below(&t->random, t->chances[high]);
	while (low < high) {
		__u32 middle = low + (high - low) / 2;

		if (t->chances[middle] > drawn)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Does his share grow by a whole turn in this round? */
static bool has_turn(const struct turns *t, __u32 tenant)
{
	__u32 share = share_of(t, tenant);

	return (t->round + 1) * share / t->largest_share > t->round * share / t->largest_share;
}

static __u32 next_in_turn(struct turns *t)
{
	__u32 next = t->current;

	do {
		if (++next < t->config.tenants)
			continue;
		next = 0;
		if (++t->round >= t->largest_share)
			t->round = 0;
	} while (t->config.share_count && !has_turn(t, next));
	return next;
}

static void next_turn(struct turns *t)
{
	t->left = t->config.turn;
	if (t->only)
		return;
	if (t->config.order == ORDER_ROUND_ROBIN) {
		t->current = next_in_turn(t);
		return;
	}
	if (t->config.order == ORDER_BURSTY)
		t->left <<= __builtin_ctzll(random_next(&t->random) | 1ull << DOUBLINGS_MAX);
	t->current = draw_tenant(t);
}

__u32 turns_next(struct turns *t)
{
	if (!t->left)
		next_turn(t);
	t->left--;
	return t->current;
}

void turns_only(struct turns *t, __u32 tenant)
{
	t->only = true;
	t->current = tenant;
	t->config.turn = t->left = 1;
}

int turns_check(const struct turns_config *config)
{
	if (!config->tenants || config->tenants > TURNS_TENANTS)
		return failed(-EINVAL, "%u tenants: accepted: 1 to %u", config->tenants,
			      TURNS_TENANTS);
	if (!config->turn || config->turn > TURN_MAX)
		return failed(-EINVAL, "turns of %u packets: accepted: 1 to %u", config->turn,
			      TURN_MAX);
	if (config->zipf_exponent > 400)
		return failed(-EINVAL, "a zipf exponent of %u hundredths: accepted: 0 to 400",
			      config->zipf_exponent);
	if (config->order >= ORDER_COUNT)
		return failed(-EINVAL, "there is no order %d", (int)config->order);
	if (config->share_count > TURNS_SHARES)
		return failed(-EINVAL, "%u shares: accepted: up to %d", config->share_count,
			      TURNS_SHARES);
	for (__u32 i = 0; i < config->share_count; i++)
		if (!config->shares[i] || config->shares[i] > TURNS_SHARE_MAX)
			return failed(-EINVAL, "a share of %u: accepted: 1 to %d",
				      config->shares[i], TURNS_SHARE_MAX);
	return 0;
}

int turns_begin(struct turns *t, const struct turns_config *config)
{
	int error = turns_check(config);

	if (error)
		return error;
	*t = (struct turns){
		.config = *config,
		.random = {config->seed},
		.current = config->tenants - 1,
		.largest_share = 1,
	};
	for (__u32 i = 0; i < config->share_count && i < config->tenants; i++)
		if (config->shares[i] > t->largest_share)
			t->largest_share = config->shares[i];
	t->round = t->largest_share - 1; /* the first turn begins a round */
	if (config->order != ORDER_ZIPF && !config->share_count)
		return 0;
	t->chances = calloc(config->tenants, sizeof(t->chances[0]));
	if (!t->chances)
		return failed(-ENOMEM, "no memory for %u tenants", config->tenants);
	make_chances(t);
	return 0;
}

void turns_end(struct turns *t)
{
	free(t->chances);
	t->chances = NULL;
}
