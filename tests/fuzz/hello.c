// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes hello_parse(). The first byte chooses: below 64 the rest is the text as it is, else it is what a
 * hello of the right form has in its fields. `hello --seeds DIR` writes first inputs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/capture/hello.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_text(FILE *file, struct bytes *in, const char *key)
{
	char text[80];

	take_text(in, text, sizeof(text));
	fprintf(file, "\"%s\":\"", key);
	for (char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			fprintf(file, "\\u%04x", (unsigned char)*c);
		else
			putc(*c, file);
	}
	fputs("\",", file);
}

static void put_hello(FILE *file, struct bytes *in)
{
	unsigned int devices = take_below(in, 9);

	fprintf(file,
		"{\"faultline\":%u,\"pid\":%lld,\"start_time\":%lld,\"id\":%lld,\"devices\":[",
		1 + (take_byte(in) == 255), (long long)take_number(in), (long long)take_number(in),
		(long long)take_number(in));
	for (unsigned int i = 0; i < devices; i++) {
		fputs(i ? ",{" : "{", file);
		put_text(file, in, "name");
		put_text(file, in, "model");
		put_text(file, in, "tenant");
		fprintf(file, "\"index\":%u,\"queues\":%lld,\"memory\":%lld,\"pasid\":%lld}",
			i + (take_byte(in) == 255), (long long)take_number(in),
			(long long)take_number(in), (long long)take_number(in));
	}
	fputs("]}", file);
}

static void check_text(const char text[NAME_TEXT])
{
	size_t length = strnlen(text, NAME_TEXT);

	if (!length || length == NAME_TEXT)
		abort();
	for (size_t i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	struct hello hello;
	size_t length;
	char *text;
	FILE *file = open_memstream(&text, &length);
	int err;

	if (take_byte(&in) < 64)
		fwrite(in.next, 1, in.left, file);
	else
		put_hello(file, &in);
	fclose(file);
	err = hello_parse(text, length, &hello);
	if (err && err != -EPROTO)
		abort();
	for (size_t i = 0; !err && i < hello.device_count; i++) {
		if (hello.devices[i].index != i)
			abort();
		check_text(hello.devices[i].name);
		check_text(hello.devices[i].model);
		check_text(hello.devices[i].tenant);
	}
	if (!err)
		hello_free(&hello);
	free(text);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char seed[] =
		"{\"faultline\":1,\"pid\":4711,\"start_time\":123457,\"id\":3,\"devices\":[{\"index\":0,"
		"\"name\":\"vm0/disk\",\"model\":\"block\",\"tenant\":\"vm0\",\"queues\":2,"
		"\"memory\":67108864,\"pasid\":2147483648,\"mapped_at\":140073414311936}]}";
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	seed_write(directory, "hello", 0, seed, sizeof(seed) - 1);
	seeds_write_random(directory, 255, 16);
	exit(0);
}
