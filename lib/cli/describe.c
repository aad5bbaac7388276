// SPDX-License-Identifier: GPL-2.0
#include "lib/cli/describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/base/fail.h"

#define CHILD_GROUPS 1000 /* a child that is not merged stands behind all groups before it */

/* What an option says of itself, from either kind of table. */
struct described {
	const char *name, *value, *help;
	int key, group;
	bool optional;
	const char *const *choices;
};

static int describe_option(json_t *list, const struct described *option, int *group, int base)
{
	json_t *choices = json_array(), *entry;
	char key[2] = {(char)(option->key > ' ' && option->key < 127 ? option->key : 0), '\0'};

	if (option->group)
		*group = option->group;
	else if (!option->name)
		(*group)++;
	for (size_t i = 0; option->choices && option->choices[i]; i++)
		json_array_append_new(choices, json_string(option->choices[i]));
	entry = json_pack("{ss? ss ss? sb ss so si}", "name", option->name, "key", key, "value",
			  option->value, "optional", option->optional, "help", option->help,
			  "choices", choices, "group", *group + base);
	return json_array_append_new(list, entry) ? -ENOMEM : 0;
}

static int describe_tables(json_t *list, const struct cli_table *tables)
{
	int group = 0, err = 0;

	for (; tables->options; tables++)
		for (const struct cli_option *o = tables->options; o->help && !err; o++) {
			const struct described option = {
				.name = o->name,
				.value = o->value,
				.help = o->help,
				.key = o->key,
				.group = o->group,
				.optional = o->optional,
				.choices = o->type == CLI_CHOICE ? o->names : NULL,
			};

			if (!o->hidden)
				err = describe_option(list, &option, &group, 0);
		}
	return err;
}

static int describe_argp(json_t *list, const struct argp *argp, int base)
{
	const struct argp_option *o = argp->options;
	int group = 0, err = 0;

	for (; (o->name || o->doc) && !err; o++) {
		const struct described option = {
			.name = o->name,
			.value = o->arg,
			.help = o->doc,
			.key = o->key,
			.group = o->group,
			.optional = o->flags & OPTION_ARG_OPTIONAL,
		};

		if (!(o->flags & OPTION_HIDDEN))
			err = describe_option(list, &option, &group, base);
	}
	return err;
}

static int describe_options(json_t *list, const struct cli *cli)
{
	int err = describe_tables(list, cli->tables);

	for (size_t i = 0; cli->children && cli->children[i].argp && !err; i++)
		err = describe_argp(list, cli->children[i].argp,
				    cli->children[i].merged ? 0 : CHILD_GROUPS * ((int)i + 1));
	return err;
}

/* The two parts of the text as the help has them; the first may have to be freed. */
static char *text_before(const struct cli *cli)
{
	const char *about = cli->about ? cli->about : "";
	char *plain = strndup(about, strcspn(about, "\v")), *shown = plain;

	if (plain && cli->help_filter)
		shown = cli->help_filter(ARGP_KEY_HELP_PRE_DOC, plain, NULL);
	if (shown != plain)
		free(plain);
	return shown;
}

static const char *text_after(const struct cli *cli)
{
	const char *after = cli->about ? strchr(cli->about, '\v') : NULL;

	return after ? after + 1 : "";
}

int cli_describe(const struct cli *cli, const char *name, FILE *file)
{
	json_t *options = json_array(), *all = NULL;
	char *before = text_before(cli);
	int err = options && before ? describe_options(options, cli) : -ENOMEM;

	if (!err)
		all = json_pack("{ss ss ss ss sO}", "name", name, "arguments",
				cli->arguments ? cli->arguments : "", "before", before, "after",
				text_after(cli), "options", options);
	if (!all)
		err = failed(-ENOMEM, "no memory to describe the options of %s", name);
	else if (json_dumpf(all, file, JSON_INDENT(1)) || putc('\n', file) == EOF || fflush(file))
		err = failed(-EIO, "cannot write to standard output: %s", strerror(errno));
	json_decref(all);
	json_decref(options);
	free(before);
	return err;
}
