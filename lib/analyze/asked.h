/* SPDX-License-Identifier: GPL-2.0 */
/* What a recording was asked for where that is not everything: what it says of the rest is nothing. */
#ifndef FAULTLINE_ASKED_H
#define FAULTLINE_ASKED_H

#include "lib/analyze/session.h"

bool asked_for_everything(const struct session *session);
/* How many page requests were seen and left out; false: not known, some were told in part. */
bool asked_left_out(const struct session *session, __u64 *count);
#define ASKED_TEXT (2 * HOST_FILTER_TEXT + 96)
/*
 * "Asked for: devices nic*; kinds fault. Left out: 12 page requests", without its last full stop. How
 * many other events were left out is not known. "" if everything was asked for.
 */
const char *asked_text(const struct session *session, char text[ASKED_TEXT]);
/* The same as a note. */
void asked_write(const struct session *session, struct writer *writer);

#endif
