/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the offline verbs: the hosts of a merged recording as a table. */
#ifndef FAULTLINE_TOOLS_OFFLINE_FACTS_H
#define FAULTLINE_TOOLS_OFFLINE_FACTS_H

#include "tools/offline.h"

#define OFFLINE_HOSTS_TABLE "hosts"

/* A row a host, for recordings of several. */
int offline_write_hosts(struct offline *offline);

#endif
