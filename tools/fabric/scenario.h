/* SPDX-License-Identifier: GPL-2.0 */
/* What one point of a job about a fabric is, and what comes of it. */
#ifndef FAULTLINE_TOOLS_FABRIC_SCENARIO_H
#define FAULTLINE_TOOLS_FABRIC_SCENARIO_H

#include "lib/fabric/cost.h"

enum scenario_kind { SCENARIO_WRITE, SCENARIO_READ };

struct run_keys {
	char scenario[FABRIC_NAME];
	__u64 bytes; /* 0: what the scenario says */
};

/* [transfer NAME]: from one node to another. */
struct transfer_keys {
	char from[FABRIC_NAME], to[FABRIC_NAME];
	char via[FABRIC_NAME]; /* host whose RAM it goes through; "": none */
	char engine
		[FABRIC_NAME]; /* that reads there and writes here; "": the node that writes or reads */
	char through[4 * FABRIC_NAME];
	__u32 kind; /* enum scenario_kind */
	__u64 bytes;
	bool translated;
};

/* [io NAME]: a command of an NVMe controller. */
struct io_keys {
	char cpu[FABRIC_NAME], device[FABRIC_NAME];
	char queue[FABRIC_NAME], completions[FABRIC_NAME],
		data[FABRIC_NAME]; /* "": the CPU's host */
	__u32 kind;		   /* enum scenario_kind */
	__u64 bytes;
	__u64 media_ns;
	bool translated;
};

#define SCENARIO_STAGES 5
enum scenario_stage {
	SCENARIO_COMMAND,
	SCENARIO_DOORBELL,
	SCENARIO_FETCH,
	SCENARIO_DATA,
	SCENARIO_COMPLETION
};

/* A transaction of it. */
struct scenario_transaction {
	const char *name;
	struct route route; /* the request's */
	bool posted;
	__u64 bytes;
	struct transaction_cost cost;
	double bytes_per_s; /* of many bytes */
};

struct scenario {
	struct fabric *fabric;
	struct fabric_costs costs;
	bool is_io;
	union {
		struct transfer_keys transfer;
		struct io_keys io;
	};
	struct scenario_transaction stages[SCENARIO_STAGES];
	__u32 stage_count;
};

enum scenario_column {
	FABRIC_HOPS,
	FABRIC_ROOTS,
	FABRIC_CROSSINGS,
	FABRIC_TRANSLATIONS,
	FABRIC_LATENCY,
	FABRIC_PING,
	FABRIC_TOTAL,
	FABRIC_BANDWIDTH,
	FABRIC_PEAK,
	FABRIC_REQUESTS,
	FABRIC_PIECES,
	FABRIC_DELAYS,
	FABRIC_CROSSED,
	FABRIC_COMMAND_HOPS,
	FABRIC_COMMAND,
	FABRIC_DOORBELL,
	FABRIC_FETCH_HOPS,
	FABRIC_FETCH,
	FABRIC_DATA_HOPS,
	FABRIC_DATA,
	FABRIC_COMPLETION_HOPS,
	FABRIC_COMPLETION,
	FABRIC_REACH,
	FABRIC_COLUMNS,
};

/* The route and price of each transaction; -ENETUNREACH, -E2BIG, -EINVAL with a sentence. Names are known (options.h). */
int scenario_run(struct scenario *scenario);
/* One a column; NAN: it has none. */
void scenario_judge(const struct scenario *scenario, double values[FABRIC_COLUMNS]);

#endif
