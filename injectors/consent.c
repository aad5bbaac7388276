// SPDX-License-Identifier: GPL-2.0
#include "injectors/consent.h"

#include <string.h>

#include "lib/base/usage.h"

void consent_add(struct consents *consents, const char *name, struct argp_state *state)
{
	if (consents->count == CONSENTS_MAX)
		usage_error(state, "--yes-i-mean-it: accepted: at most %d times", CONSENTS_MAX);
	else
		consents->names[consents->count++] = name;
}

bool consent_given(const struct consents *consents, const char *name)
{
	for (size_t i = 0; i < consents->count; i++)
		if (!strcmp(consents->names[i], name))
			return true;
	return false;
}
