/* SPDX-License-Identifier: GPL-2.0 */
/* What programs print of their results, as numbers. */
#ifndef FAULTLINE_NET_PROGRAM_RESULT_H
#define FAULTLINE_NET_PROGRAM_RESULT_H

#include <stddef.h>

enum result_format {
	RESULT_NONE,
	RESULT_IPERF3,	  /* iperf3 -c HOST -J */
	RESULT_MEMCASLAP, /* memcaslap -s HOST:PORT */
	RESULT_REDIS,	  /* redis-benchmark -h HOST --csv */
	RESULT_SOCKPERF,  /* sockperf ping-pong, under-load or throughput */
	RESULT_FORMATS,
};

extern const char *const result_formats[RESULT_FORMATS]; /* "none", "iperf3" */

/* NAN: that program does not tell it. */
struct program_result {
	double goodput;	 /* bytes/s of payload that were received */
	double requests; /* that were answered; of sockperf's throughput: sent */
	double requests_per_s;
	double request_p50_ns, request_p99_ns; /* round trips; of several tests the worst one's */
	double retransmits;		       /* segments */
	double bytes;			       /* of payload that were received */
};

/*
 * `text` ends with a NUL at `size`. Nothing is taken from output that is damaged or cut short: -EIO with a
 * sentence that says what is missing and what is accepted.
 */
int program_result_parse(enum result_format format, const char *text, size_t size,
			 struct program_result *result);

#endif
