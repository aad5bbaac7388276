/* SPDX-License-Identifier: GPL-2.0 */
/* For tests: a verb of faultline in a process of its own; what it prints and how it ends is kept. */
#ifndef FAULTLINE_TEST_VERBS_H
#define FAULTLINE_TEST_VERBS_H

#define VERB_ARGUMENTS 16

struct verb_run {
	int status; /* exit code, -1 if a signal ended it */
	char *out;
	char *err;
};

/* `line`: what follows "faultline", words separated by one blank. */
struct verb_run verb_run(const char *line);
void verb_run_free(struct verb_run *run);

#endif
