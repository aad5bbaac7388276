// SPDX-License-Identifier: GPL-2.0
/* Fabrics of jobs: what is read, and what is refused with file and line. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/fabric/cost.h"
#include "lib/fabric/options.h"
#include "lib/job/text.h"
#include "tests/unit/job_files.h"

#define TWO                                  \
	"[host a]\n[adapter x]\nunder = a\n" \
	"[host b]\n[adapter y]\nunder = b\n" \
	"[link c]\nbetween = x y\n"

static struct fabric *built(const char *content)
{
	struct fabric *fabric;
	struct job_text *text;

	assert_int_equal(read_job(&text, content), 0);
	if (fabric_build(&fabric, text))
		fail_msg("%s", failure_text());
	job_text_free(text);
	return fabric;
}

static void is_read(void **state)
{
	struct fabric *fabric = built(
		"[host a]\niommu = yes\ndelay = 300ns\nmemory = 1G\n"
		"[switch s]\nunder = a\nchip = pm8536\n"
		"[switch t]\nunder = s\n"
		"[switch u]\nunder = t\ndelay = 7ns\n"
		"[adapter x]\nunder = u\nbar = 2M\nbar_high = no\nwindows = 8\nrequesters = 5\n"
		"[host b]\n[adapter y]\nunder = b\ndelay = 9ns\n"
		"[device d]\nunder = b\nmodel = nvme\n"
		"[switch open]\nchip = pex8733\n"
		"[link one]\nbetween = x open\ndelay = 11ns\nrate = 3e9/s\n"
		"[link two]\nbetween = open y\n"
		"[borrow z]\ndevice = d\n");
	const struct fabric_node *n = fabric->nodes;

	(void)state;
	assert_int_equal(fabric->node_count, 9);
	assert_int_equal(fabric->host_count, 2);
	assert_int_equal(fabric->link_count, 2);
	assert_true(fabric->hosts[0].iommu);
	assert_false(fabric->hosts[1].iommu);
	assert_string_equal(fabric->hosts[1].name, "b");
	assert_int_equal(fabric->hosts[1].root, 5);
	assert_int_equal(fabric_find(fabric, "b"), 5);
	assert_int_equal(fabric_find(fabric, "one"), FABRIC_NONE);
	assert_int_equal(fabric_find(fabric, ""), FABRIC_NONE);
	assert_int_equal(n[0].delay_ns, 300);
	assert_int_equal(n[5].delay_ns, 200);
	assert_int_equal(n[1].delay_ns, 170);
	assert_int_equal(n[2].delay_ns, 150);
	assert_int_equal(n[3].delay_ns, 7);
	assert_int_equal(n[8].delay_ns, 132);
	assert_int_equal(n[4].delay_ns, 177);
	assert_int_equal(n[4].bar_bytes, 2 << 20);
	assert_false(n[4].bar_high);
	assert_int_equal(n[4].windows, 8);
	assert_int_equal(n[4].requesters, 5);
	assert_int_equal(n[4].host, 0);
	assert_int_equal(n[4].upstream, 3);
	assert_int_equal(n[6].delay_ns, 9);
	assert_int_equal(n[6].bar_bytes, 1 << 30);
	assert_true(n[6].bar_high);
	assert_int_equal(n[6].windows, 256);
	assert_int_equal(n[6].requesters, 32);
	assert_int_equal(n[7].kind, FABRIC_DEVICE);
	assert_int_equal(n[7].host, 1);
	assert_int_equal(n[8].host, FABRIC_NONE);
	assert_int_equal(n[8].upstream, FABRIC_NONE);
	assert_int_equal(fabric->links[0].ends[0], 4);
	assert_int_equal(fabric->links[0].ends[1], 8);
	assert_int_equal(fabric->links[0].delay_ns, 11);
	assert_int_equal(fabric->links[0].bytes_per_s, 3000000000);
	assert_int_equal(fabric->links[1].bytes_per_s, 6900000000);
	assert_string_equal(fabric->links[1].name, "two");
	/* Each neighbour twice: from both ends. Upstream comes first. */
	assert_int_equal(fabric->first[9], 2 * (4 + 2 + 2));
	assert_int_equal(fabric->edges[fabric->first[4]].node, 3);
	assert_int_equal(fabric->edges[fabric->first[4]].link, FABRIC_NONE);
	assert_int_equal(fabric->edges[fabric->first[4] + 1].node, 8);
	assert_int_equal(fabric->edges[fabric->first[4] + 1].link, 0);
	fabric_free(fabric);
	fabric_free(NULL);
}

/* What is under others may come before them. */
static void in_any_order(void **state)
{
	struct fabric *fabric = built("[device d]\nunder = s\n[switch s]\nunder = a\n[host a]\n");

	(void)state;
	assert_int_equal(fabric->nodes[0].host, 0);
	assert_int_equal(fabric->nodes[0].upstream, 1);
	assert_int_equal(fabric->nodes[1].upstream, 2);
	assert_int_equal(fabric->hosts[0].root, 2);
	assert_int_equal(fabric->first[1], 1);
	assert_int_equal(fabric->edges[0].node, 1);
	assert_int_equal(fabric->edges[fabric->first[1]].node, 2);
	assert_int_equal(fabric->edges[fabric->first[1] + 1].node, 0);
	assert_int_equal(fabric->edges[fabric->first[1] + 1].link, FABRIC_NONE);
	assert_int_equal(fabric->edges[fabric->first[2]].node, 1);
	assert_int_equal(fabric->first[3], 4);
	fabric_free(fabric);
	fabric = built("[link c]\nbetween = s t\n[host a]\n[switch s]\n[switch t]\n");
	assert_int_equal(fabric->link_count, 1);
	fabric_free(fabric);
}

static void costs_are_read(void **state)
{
	struct fabric_costs costs;
	struct job_text *text;

	(void)state;
	assert_int_equal(read_job(&text, TWO), 0);
	assert_int_equal(fabric_costs_read(&costs, text), 0);
	job_text_free(text);
	assert_int_equal(costs.memory_ns, 100);
	assert_int_equal(costs.device_ns, 100);
	assert_int_equal(costs.translate_ns, 0);
	assert_int_equal(costs.payload, 256);
	assert_int_equal(costs.request, 256);
	assert_int_equal(costs.split, 64);
	assert_int_equal(costs.outstanding, 64);
	assert_int_equal(costs.split_outstanding, 54);
	assert_int_equal(costs.bytes_per_s, 13800000000);
	assert_int_equal(costs.root_bytes_per_s, 11000000000);
	assert_int_equal(read_job(&text, "[fabric]\nsplit = 0\noutstanding = 3\nmemory = 1us\n"),
			 0);
	assert_int_equal(fabric_costs_read(&costs, text), 0);
	job_text_free(text);
	assert_int_equal(costs.split, 0);
	assert_int_equal(costs.outstanding, 3);
	assert_int_equal(costs.memory_ns, 1000);
	assert_int_equal(read_job(&text, "[fabric]\nsplit = 3\n"), 0);
	assert_int_equal(fabric_costs_read(&costs, text), -EBADMSG);
	assert_string_equal(failure_text(),
			    JOB_PATH ":2: split=3: accepted: 0 to 4096, a power of two");
	job_text_free(text);
}

/* Every row has its own field, within the struct of its section. */
static void rows_of_sections(void **state)
{
	struct option_row all[FABRIC_ROWS];
	size_t rows = fabric_rows_add(all), sum = 0;

	(void)state;
	for (size_t i = 0; i < FABRIC_SECTIONS; i++) {
		size_t count;
		const struct option_row *first = fabric_rows(fabric_sections[i].type, &count);

		assert_non_null(first);
		for (size_t r = 0; r < count; r++) {
			assert_string_equal(first[r].section, fabric_sections[i].type);
			assert_string_equal(all[sum].key, first[r].key);
			sum++;
		}
	}
	assert_int_equal(sum, rows);
	assert_null(fabric_rows("borrow", &sum));
	assert_int_equal(sum, 0);
}

static void refused(const char *content, int error, const char *sentence)
{
	struct fabric *fabric = NULL;
	struct job_text *text;

	assert_int_equal(read_job(&text, content), 0);
	assert_int_equal(fabric_build(&fabric, text), error);
	assert_null(fabric);
	if (strcmp(failure_text(), sentence) != 0)
		fail_msg("%s\ninstead of %s", failure_text(), sentence);
	job_text_free(text);
}

#define AT(line) JOB_PATH ":" #line ": "
#define UNDER	 "a host, or a switch of one"

static void wrong_trees(void **state)
{
	(void)state;
	refused("[switch s]\n", -EBADMSG, JOB_PATH ": no [host NAME]; accepted: one and more");
	refused("[host a]\n[device d]\n", -EBADMSG,
		AT(2) "[device d] needs under=: host, or a switch of one");
	refused("[host a]\n[device d]\nunder = b\n", -EBADMSG,
		AT(3) "under=b, which there is not: accepted: " UNDER);
	refused("[device d]\nunder = b\n[host a]\n", -EBADMSG,
		AT(2) "under=b, which there is not: accepted: " UNDER);
	refused("[device d]\nunder = s\n[host a]\n[switch s]\n", -EBADMSG,
		AT(2) "under=s, which is a switch between hosts: accepted: " UNDER
		      "; what joins others is a [link]");
	refused("[host a]\n[device d]\nunder = d\n", -EBADMSG, AT(3) "under=d: accepted: " UNDER);
	refused("[host a]\n[device d]\nunder = a\n[device e]\nunder = d\n", -EBADMSG,
		AT(5) "under=d: accepted: " UNDER);
	refused(TWO "[switch s]\nunder = x\n", -EBADMSG, AT(10) "under=x: accepted: " UNDER);
	refused("[host a]\n[switch s]\nunder = t\n[switch t]\nunder = s\n", -EBADMSG,
		AT(3) "under=t, which is under itself: accepted: " UNDER);
	refused("[host a]\n[switch s]\nunder = s\n", -EBADMSG,
		AT(3) "under=s, which is under itself: accepted: " UNDER);
	refused("[host a]\n[switch s]\n[device d]\nunder = s\n", -EBADMSG,
		AT(4) "under=s, which is a switch between hosts: accepted: " UNDER
		      "; what joins others is a [link]");
	refused("[host a]\n[device a]\nunder = a\n", -EBADMSG,
		AT(2) "[device a]: there is [host a] at " JOB_PATH
		      ":1; accepted: names that no other host, switch, adapter or device has");
	refused("[host a]\niommu = perhaps\n", -EBADMSG, AT(2) "iommu=perhaps: accepted: yes, no");
}

#define ENDS "two names, of adapters or of switches between hosts"

static void wrong_links(void **state)
{
	(void)state;
	refused("[adapter x]\nunder = a\n[host a]\n", -EBADMSG,
		AT(1) "[adapter x] has no cable; accepted: one [link NAME] with between= it and another");
	refused("[host a]\n[switch s]\n[switch t]\n[link l]\nbetween = s t\nrate = 1/s\n", -EBADMSG,
		AT(6) "rate=1/s: accepted: 1000/s to 1000000000000000/s");
	refused(TWO "[link d]\nbetween = x y\n", -EBADMSG,
		AT(10) "between=x y: x has another cable; accepted: one of an adapter");
	refused("[host a]\n[adapter x]\nunder = a\n[switch s]\n[switch t]\n"
		"[link 1]\nbetween = s t\n[link 2]\nbetween = s x\n[link 3]\nbetween = x t\n",
		-EBADMSG, AT(11) "between=x t: x has another cable; accepted: one of an adapter");
	refused(TWO "[switch s]\n[link d]\nbetween = s y\n", -EBADMSG,
		AT(11) "between=s y: y has another cable; accepted: one of an adapter");
	refused("[host a]\n[adapter x]\nunder = a\n", -EBADMSG,
		AT(2) "[adapter x] has no cable; accepted: one [link NAME] with between= it and another");
	refused("[host a]\n[link l]\nbetween = a\n", -EBADMSG,
		AT(3) "between=a: not two names; accepted: " ENDS "");
	refused("[host abc]\n[link l]\nbetween = abc\n", -EBADMSG,
		AT(3) "between=abc: not two names; accepted: " ENDS);
	refused("[host a]\n[link l]\nbetween = a b c\n", -EBADMSG,
		AT(3) "between=a b c: not two names; accepted: " ENDS);
	refused("[host a]\n[link l]\nbetween = b a\n", -EBADMSG,
		AT(3) "between=b a: no b; accepted: " ENDS);
	refused("[host a]\n[switch s]\n[link l]\nbetween = s a\n", -EBADMSG,
		AT(4) "between=s a: a is neither; accepted: " ENDS);
	refused("[host a]\n[switch s]\nunder = a\n[switch t]\n[link l]\nbetween = t s\n", -EBADMSG,
		AT(6) "between=t s: s is neither; accepted: " ENDS);
	refused("[host a]\n[switch s]\n[link l]\nbetween = s s\n", -EBADMSG,
		AT(4) "between=s s: s twice; accepted: " ENDS);
}

static char *repeated(const char *before, const char *format, unsigned int count)
{
	char *text = malloc(strlen(before) + (strlen(format) + 16) * count + 1), *at = text;

	at += sprintf(at, "%s", before);
	for (unsigned int i = 0; i < count; i++)
		at += sprintf(at, format, i);
	return text;
}

static void as_many_as_there_may_be(void **state)
{
	char *text = repeated("", "[host %u]\n", FABRIC_NODES_MAX);
	struct fabric *fabric = built(text);

	(void)state;
	assert_int_equal(fabric->node_count, FABRIC_NODES_MAX);
	fabric_free(fabric);
	free(text);
	text = repeated("", "[host %u]\n", FABRIC_NODES_MAX + 1);
	refused(text, -EBADMSG,
		AT(1025) "[host 1024]: accepted: up to 1024 hosts, switches, adapters and devices");
	free(text);
	text = repeated("[host a]\n[switch s]\n[switch t]\n", "[link %u]\nbetween = s t\n",
			FABRIC_LINKS_MAX);
	fabric = built(text);
	assert_int_equal(fabric->link_count, FABRIC_LINKS_MAX);
	fabric_free(fabric);
	free(text);
	text = repeated("[host a]\n[switch s]\n[switch t]\n", "[link %u]\nbetween = s t\n",
			FABRIC_LINKS_MAX + 1);
	refused(text, -EBADMSG, AT(2052) "[link 1024]: accepted: up to 1024 links");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_read),
		cmocka_unit_test(in_any_order),
		cmocka_unit_test(costs_are_read),
		cmocka_unit_test(rows_of_sections),
		cmocka_unit_test(wrong_trees),
		cmocka_unit_test(wrong_links),
		cmocka_unit_test(as_many_as_there_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
