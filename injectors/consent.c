// SPDX-License-Identifier: GPL-2.0
#include "injectors/consent.h"

#include <string.h>

const struct cli_option consent_options[] = {
	{"yes-i-mean-it", 0, "NAME",
	 "Consent to touch what Faultline has not started: exactly this; repeatable", CLI_LIST,
	 CLI_FIELD(struct consents, names), .most = CONSENTS_MAX,
	 .count = offsetof(struct consents, count)},
	{0},
};

bool consent_given(const struct consents *consents, const char *name)
{
	for (size_t i = 0; i < consents->count; i++)
		if (!strcmp(consents->names[i], name))
			return true;
	return false;
}
