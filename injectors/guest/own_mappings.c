// SPDX-License-Identifier: GPL-2.0
#include "injectors/guest/own_mappings.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib/base/fail.h"

/* Of <linux/fs.h> since 6.11, which distributions' headers do not all have. */
struct map_query {
	__u64 size, query_flags, query_address;
	__u64 start, end, flags, page_bytes, offset, inode;
	__u32 major, minor, name_bytes, build_id_bytes;
	__u64 name, build_id;
};
#define MAP_QUERY	  _IOWR('f', 17, struct map_query)
#define MAP_COVERING_NEXT 0x10
#define MAP_READABLE	  0x01
#define MAP_WRITABLE	  0x02
#define MAP_IS_SHARED	  0x08

static bool query(const struct own_mappings *mappings, __u64 here, struct own_mapping *mapping)
{
	struct map_query asked = {
		.size = sizeof(asked), .query_flags = MAP_COVERING_NEXT, .query_address = here};

	if (ioctl(fileno(mappings->text), MAP_QUERY, &asked))
		return false;
	*mapping = (struct own_mapping){
		.start = asked.start,
		.end = asked.end,
		.offset = asked.offset,
		.inode = asked.inode,
		.major = asked.major,
		.minor = asked.minor,
		.readable = asked.flags & MAP_READABLE,
		.writable = asked.flags & MAP_WRITABLE,
		.shared = asked.flags & MAP_IS_SHARED,
	};
	return true;
}

int own_mappings_open_text(struct own_mappings *mappings)
{
	*mappings = (struct own_mappings){.text = fopen("/proc/self/maps", "re")};
	return mappings->text
		       ? 0
		       : failed(-errno, "/proc/self/maps cannot be read: %s; is /proc there?",
				strerror(errno));
}

int own_mappings_open(struct own_mappings *mappings)
{
	struct own_mapping first;
	int error = own_mappings_open_text(mappings);

	if (!error)
		mappings->queried = query(mappings, 0, &first);
	return error;
}

void own_mappings_close(struct own_mappings *mappings)
{
	if (mappings->text)
		fclose(mappings->text);
	mappings->text = NULL;
}

static bool read_next(struct own_mappings *mappings)
{
	struct own_mapping *next = &mappings->last;
	char line[512], rest[512], rights[5];

	while (fgets(line, sizeof(line), mappings->text)) {
		/* Of a name that is longer. */
		if (!strchr(line, '\n'))
			while (fgets(rest, sizeof(rest), mappings->text) && !strchr(rest, '\n'))
				;
		if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &next->start, &next->end, rights,
			   &next->offset, &next->major, &next->minor, &next->inode) != 7)
			continue;
		next->readable = rights[0] == 'r';
		next->writable = rights[1] == 'w';
		next->shared = rights[3] == 's';
		return true;
	}
	return false;
}

bool own_mapping_from(struct own_mappings *mappings, __u64 here, struct own_mapping *mapping)
{
	if (mappings->queried)
		return query(mappings, here, mapping);
	/* The last one may be it again, but for what has changed since. */
	if (here < mappings->last.end) {
		rewind(mappings->text);
		mappings->last = (struct own_mapping){};
	}
	while (read_next(mappings))
		if (mappings->last.end > here) {
			*mapping = mappings->last;
			return true;
		}
	mappings->last = (struct own_mapping){};
	rewind(mappings->text);
	return false;
}
