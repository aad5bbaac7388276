/* SPDX-License-Identifier: GPL-2.0 */
/* What `record` says at its end if no device faulted: with which eyes it has looked. */
#ifndef FAULTLINE_RECORD_ANSWER_H
#define FAULTLINE_RECORD_ANSWER_H

#include "lib/base/stream.h"

struct record_answer;

/* -ENOMEM. Its stream is one of the recording's sinks. */
int record_answer_create(struct record_answer **answer);
struct stream record_answer_stream(struct record_answer *answer);
/* Sentences on standard error; none if a fault was seen. */
void record_answer_print(const struct record_answer *answer);
void record_answer_destroy(struct record_answer *answer);

#endif
