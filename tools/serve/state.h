/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What counters had told, in a file: where the next server goes on. A file of another version is left behind, which
 * Prometheus knows as a reset; what is no such file is refused.
 */
#ifndef FAULTLINE_SERVE_STATE_H
#define FAULTLINE_SERVE_STATE_H

#include "tools/serve/ledger.h"

struct state_bytes {
	char *bytes;
	size_t length, room;
};

/* All that the ledger has told so far. -ENOMEM. */
int state_pack(const struct ledger *ledger, struct state_bytes *state);
/*
 * Into the base of an empty ledger. 0 also where there is no file, or one that does not count: why is in `note`, else "".
 * -EBADMSG with a sentence: it is another kind of file, which must not be replaced.
 */
#define STATE_NOTE 256
int state_load(struct ledger *ledger, const char *path, char note[STATE_NOTE]);

#endif
