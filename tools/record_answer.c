// SPDX-License-Identifier: GPL-2.0
#include "tools/record_answer.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/asked.h"
#include "lib/analyze/watched.h"
#include "lib/base/fail.h"
#include "lib/output/table.h"

struct record_answer {
	struct session *session; /* of which only host, probes and loss are told */
	__u64 faults;		 /* events of their stages */
};

int record_answer_create(struct record_answer **answer)
{
	struct record_answer *a = calloc(1, sizeof(*a));

	*answer = a;
	return a ? session_create(&a->session) : failed(-ENOMEM, "no memory for a recording");
}

static int answer_on_probe(void *self, const struct probe_info *probe)
{
	struct stream session = session_stream(((struct record_answer *)self)->session);

	return session.ops->probe(session.self, probe);
}

static int answer_on_host(void *self, const struct host_info *host)
{
	struct stream session = session_stream(((struct record_answer *)self)->session);

	return session.ops->host(session.self, host);
}

static int answer_on_loss(void *self, const struct loss_info *loss)
{
	struct stream session = session_stream(((struct record_answer *)self)->session);

	return session.ops->loss(session.self, loss);
}

static int answer_on_events(void *self, const struct event *events, size_t count)
{
	struct record_answer *answer = self;

	for (size_t i = 0; i < count; i++)
		answer->faults += events[i].kind >= EVENT_FAULT_DETECT &&
				  events[i].kind <= EVENT_FAULT_DISCARD;
	return 0;
}

struct stream record_answer_stream(struct record_answer *answer)
{
	static const struct stream_ops ops = {.host = answer_on_host,
					      .probe = answer_on_probe,
					      .events = answer_on_events,
					      .loss = answer_on_loss};

	return (struct stream){&ops, answer};
}

void record_answer_print(const struct record_answer *answer)
{
	const struct writer_config config = {.format = OUTPUT_TEXT, .file = stderr};
	struct writer *writer;

	if (answer->faults || writer_open(&writer, &config))
		return;
	writer_note(writer, "0 I/O page faults%s.",
		    asked_for_everything(answer->session) ? "" : " of what was asked for");
	asked_write(answer->session, writer);
	watched_write(answer->session, NULL, writer);
	writer_close(writer);
}

void record_answer_destroy(struct record_answer *answer)
{
	if (!answer)
		return;
	session_destroy(answer->session);
	free(answer);
}
