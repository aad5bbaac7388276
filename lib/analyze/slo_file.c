// SPDX-License-Identifier: GPL-2.0
/* Reads [slo NAME] sections. inih splits the lines; what they mean is decided here. */
#include "lib/analyze/slo.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/units.h"

#define SECTION "slo "

struct reader {
	const char *path;
	FILE *file;
	int line;
	struct slo_set *set;
	int heads[SLO_MAX]; /* line of each section */
	int error;
};

static int parse_percentile(const char *text, double *percentile)
{
	int error = units_parse_percent(text, percentile);

	return !error && !(*percentile > 0 && *percentile <= 100)
		       ? failed(-EINVAL, "%s: accepted: more than 0, up to 100, such as 99.9", text)
		       : error;
}

static int parse_iops(const char *text, double *rate)
{
	int error = units_parse_rate(text, rate);

	return !error && !(*rate > 0)
		       ? failed(-EINVAL, "%s: accepted: more than 0, such as 1000/s", text)
		       : error;
}

static int parse_window(const char *text, __u64 *ns)
{
	int error = units_parse_duration(text, ns);

	if (!error && (!*ns || *ns % AGGREGATE_WINDOW_NS || *ns > 86400 * AGGREGATE_WINDOW_NS))
		return failed(-EINVAL,
			      "%s: accepted: whole seconds, 1s to 1d, as I/Os are counted "
			      "by the second",
			      text);
	return error;
}

static int parse_latency(const char *text, __u64 *ns)
{
	int error = units_parse_duration(text, ns);

	return !error && !*ns ? failed(-EINVAL, "%s: accepted: more than 0, such as 2ms", text)
			      : error;
}

static int parse_bandwidth(const char *text, __u64 *bytes)
{
	int error = units_parse_size(text, bytes);

	return !error && !*bytes ? failed(-EINVAL, "%s: accepted: more than 0, such as 10M", text)
				 : error;
}

static int set_device(struct slo_objective *o, const char *value)
{
	if (strlen(value) >= sizeof(o->device) || !*value)
		return failed(-EINVAL,
			      "accepted: a device name or pattern such as *disk0, up to "
			      "%zu characters",
			      sizeof(o->device) - 1);
	strcpy(o->device, value);
	return 0;
}

static int set_key(struct slo_objective *o, const char *key, const char *value)
{
	__u64 count;
	int error;

	if (!strcmp(key, "device"))
		return set_device(o, value);
	if (!strcmp(key, "latency_target"))
		return parse_latency(value, &o->latency_target_ns);
	if (!strcmp(key, "latency_percentile"))
		return parse_percentile(value, &o->latency_percentile);
	if (!strcmp(key, "latency_window"))
		return parse_window(value, &o->window_ns);
	if (!strcmp(key, "min_iops"))
		return parse_iops(value, &o->min_iops);
	if (!strcmp(key, "min_bandwidth"))
		return parse_bandwidth(value, &o->min_bandwidth);
	if (!strcmp(key, "fault_rate")) {
		o->has_fault_rate = true;
		return units_parse_rate(value, &o->fault_rate);
	}
	if (!strcmp(key, "burst")) {
		error = units_parse_count(value, 1, 1000, &count);
		o->has_burst = true;
		o->burst = (unsigned int)count;
		return error;
	}
	return failed(-EINVAL, "no such key; accepted: device, latency_target, latency_percentile, "
			       "latency_window, min_iops, min_bandwidth, fault_rate, burst");
}

/* inih tells neither line numbers nor empty sections; both are seen here. */
static char *next_line(char *text, int size, void *argument)
{
	struct reader *r = argument;
	char *line = fgets(text, size, r->file), *start, *end;
	struct slo_objective *o;

	if (!line)
		return NULL;
	r->line++;
	if (!strchr(line, '\n') && !feof(r->file) && !r->error)
		r->error = failed(-EINVAL, "%s:%d: accepted: lines of up to %d characters", r->path,
				  r->line, size - 2);
	start = line + strspn(line, " \t");
	end = strchr(start, ']');
	if (r->error || !end || strncmp(start, "[slo", 4) != 0 || !strchr(" \t]", start[4]))
		return line;
	start += strlen("[slo");
	start += strspn(start, " \t");
	if (start >= end || (size_t)(end - start) >= sizeof(o->name)) {
		r->error = failed(-EINVAL,
				  "%s:%d: accepted: [slo NAME], a name of 1 to %zu "
				  "characters",
				  r->path, r->line, sizeof(o->name) - 1);
		return line;
	}
	if (r->set->count == SLO_MAX) {
		r->error = failed(-EINVAL, "%s:%d: accepted: up to %d objectives", r->path, r->line,
				  SLO_MAX);
		return line;
	}
	r->heads[r->set->count] = r->line;
	o = &r->set->objectives[r->set->count++];
	*o = (struct slo_objective){
		.device = "*",
		.latency_percentile = 100,
		.window_ns = AGGREGATE_WINDOW_NS,
	};
	memcpy(o->name, start, (size_t)(end - start));
	return line;
}

static int on_key(void *argument, const char *section, const char *name, const char *value)
{
	struct reader *r = argument;
	int error;

	if (r->error || strncmp(section, SECTION, strlen(SECTION)) != 0)
		return 1;
	error = set_key(&r->set->objectives[r->set->count - 1], name, value);
	if (error)
		r->error = failed_in(error, "%s:%d: %s=%s", r->path, r->line, name, value);
	return 1;
}

static int check(struct reader *r)
{
	for (size_t i = 0; i < r->set->count; i++) {
		const struct slo_objective *o = &r->set->objectives[i];

		if (!o->latency_target_ns && !(o->min_iops > 0) && !o->min_bandwidth &&
		    !o->has_fault_rate && !o->has_burst)
			return failed(-EINVAL,
				      "%s:%d: [slo %s] states no objective; accepted: "
				      "latency_target, min_iops, min_bandwidth, fault_rate, burst",
				      r->path, r->heads[i], o->name);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(r->set->objectives[k].name, o->name))
				return failed(-EINVAL, "%s:%d: [slo %s] stands at line %d already",
					      r->path, r->heads[i], o->name, r->heads[k]);
	}
	if (!r->set->count)
		return failed(-ENODATA, "%s: no [slo NAME] section", r->path);
	return 0;
}

int slo_read(const char *path, struct slo_set *set)
{
	struct reader r = {.path = path, .set = set};
	int line;

	memset(set, 0, sizeof(*set));
	r.file = fopen(path, "re");
	if (!r.file)
		return failed(-errno, "%s: %s", path, strerror(errno));
	line = ini_parse_stream(next_line, &r, on_key, &r);
	if (ferror(r.file))
		r.error = failed(-EIO, "%s: cannot be read: %s", path, strerror(errno));
	fclose(r.file);
	if (r.error)
		return r.error;
	if (line)
		return failed(-EINVAL, "%s:%d: accepted: [slo NAME] sections and KEY=VALUE lines",
			      path, line);
	return check(&r);
}
