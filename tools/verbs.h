/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs of `faultline`. Each has a file of its name; argv[0] is "faultline VERB". */
#ifndef FAULTLINE_VERBS_H
#define FAULTLINE_VERBS_H

/* Each returns an enum exit_code (lib/base/fail.h) and has printed its own error sentence. */
int verb_record(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_timeline(int argc, char **argv);
int verb_footprint(int argc, char **argv);
int verb_protect(int argc, char **argv);
int verb_merge(int argc, char **argv);
int verb_slo(int argc, char **argv);
int verb_diff(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_sim(int argc, char **argv);
int verb_accesses(int argc, char **argv);
int verb_fleet(int argc, char **argv);
int verb_fabric(int argc, char **argv);
int verb_serve(int argc, char **argv);

#endif
