// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/objects.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/maps.skel.h"
#include "bpf/mappings.h"
#include "lib/base/fail.h"
#include "lib/base/stream.h"
#include "lib/capture/verifier_log.h"

#define RINGS_BYTES    (64ul << 20)
#define RING_MIN_BYTES (256ul << 10)

static program_target_fn target_of;
static void *target_self;

/* Called by libbpf for each program right before it is loaded. */
static int set_target(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	struct program_target target;

	(void)cookie;
	if (bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
		return 0; /* the bench runs them without attaching */
	if (!target_of || !target_of(target_self, program, &target))
		return -ESRCH;
	options->attach_prog_fd = 0; /* as leave_targets_to_us() made it */
	options->attach_btf_id = target.type;
	options->attach_btf_obj_fd = target.types;
	return 0;
}

/* Programs of these sections get their target from us. Once is enough. */
static void take_sections_over(void)
{
	static const struct {
		const char *section;
		enum bpf_attach_type type;
	} ours[] = {
		{"tp_btf+", BPF_TRACE_RAW_TP},
		{"fentry+", BPF_TRACE_FENTRY},
		{"fexit+", BPF_TRACE_FEXIT},
	};
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = set_target);
	static bool done;

	for (size_t i = 0; !done && i < sizeof(ours) / sizeof(ours[0]); i++)
		libbpf_register_prog_handler(ours[i].section, BPF_PROG_TYPE_TRACING, ours[i].type,
					     &options);
	done = true;
}

/*
 * libbpf reads the whole of the kernel's types for an object with programs on functions and
 * tracepoints, only to look up their targets, unless these are other programs: so it is told.
 */
static void leave_targets_to_us(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		if (bpf_program__type(program) == BPF_PROG_TYPE_TRACING)
			bpf_program__set_attach_target(program, 1, NULL);
	}
}

static struct bpf_object *open_elf(const char *name, const void *(*elf)(size_t *bytes),
				   const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = name, .btf_custom_path = types);
	size_t bytes;
	const void *image = elf(&bytes);

	verifier_log_begin();
	take_sections_over();
	return bpf_object__open_mem(image, bytes, &options);
}

static size_t power_of_two_below(size_t value)
{
	size_t power = 1;

	while (power * 2 <= value)
		power *= 2;
	return power;
}

static int choose_ring_size(struct shared_maps *maps, size_t ring_bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (!ring_bytes) {
		ring_bytes = power_of_two_below(RINGS_BYTES / maps->cpus);
		if (ring_bytes < RING_MIN_BYTES)
			ring_bytes = RING_MIN_BYTES;
	}
	if (ring_bytes < page || ring_bytes & (ring_bytes - 1) || ring_bytes > 1ul << 30)
		return failed(-EINVAL,
			      "ring size of %zu bytes: accepted: powers of two from %zu to 1 GiB",
			      ring_bytes, page);
	maps->ring_bytes = ring_bytes;
	return 0;
}

static int create_ring_buffers(struct shared_maps *maps)
{
	maps->ring_fds = malloc(maps->cpus * sizeof(int));
	if (!maps->ring_fds)
		return failed(-ENOMEM, "no memory for %d rings", maps->cpus);
	memset(maps->ring_fds, 0xff, maps->cpus * sizeof(int));
	for (int cpu = 0; cpu < maps->cpus; cpu++) {
		maps->ring_fds[cpu] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "faultline_ring", 0, 0,
						     maps->ring_bytes, NULL);
		if (maps->ring_fds[cpu] < 0)
			return failed(-errno, "creating an event ring of %zu bytes for CPU %d: %s",
				      maps->ring_bytes, cpu, strerror(errno));
	}
	return 0;
}

static int fill_ring_array(const struct shared_maps *maps)
{
	int fd = bpf_object__find_map_fd_by_name(maps->object, "rings");

	for (__u32 cpu = 0; cpu < (__u32)maps->cpus; cpu++)
		if (bpf_map_update_elem(fd, &cpu, &maps->ring_fds[cpu], BPF_ANY))
			return failed(-errno, "handing the ring of CPU %u to the kernel: %s", cpu,
				      strerror(errno));
	return 0;
}

static int map_state(struct shared_maps *maps)
{
	int fd = bpf_object__find_map_fd_by_name(maps->object, "state");
	void *memory;

	maps->state_bytes = sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, maps->state_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return failed(-errno, "mapping the shared capture state: %s", strerror(errno));
	maps->state = memory;
	fd = bpf_object__find_map_fd_by_name(maps->object, "mappings");
	memory =
		mmap(NULL, MAPPING_SETS * sizeof(struct mapping_set), PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return failed(-errno, "mapping the table of owners: %s", strerror(errno));
	maps->mappings = memory;
	return 0;
}

static int load_maps(struct shared_maps *maps)
{
	struct bpf_map *rings;
	int error;

	maps->object = open_elf("faultline_maps", maps_bpf__elf_bytes, NULL);
	if (!maps->object)
		return failed(-errno, "opening the BPF maps: %s (%s)", strerror(errno),
			      verifier_log_text());
	rings = bpf_object__find_map_by_name(maps->object, "rings");
	bpf_map__set_max_entries(rings, maps->cpus);
	error = bpf_object__load(maps->object);
	if (error)
		return failed(error, "creating the BPF maps: %s (%s)", strerror(-error),
			      verifier_log_text());
	maps->counters = bpf_object__find_map_fd_by_name(maps->object, "counters");
	maps->devices = bpf_object__find_map_fd_by_name(maps->object, "devices");
	maps->devices_gone = bpf_object__find_map_fd_by_name(maps->object, "devices_gone");
	maps->owners = bpf_object__find_map_fd_by_name(maps->object, "owners");
	maps->process_names = bpf_object__find_map_fd_by_name(maps->object, "process_names");
	maps->domains = bpf_object__find_map_fd_by_name(maps->object, "domains");
	maps->groups = bpf_object__find_map_fd_by_name(maps->object, "groups");
	maps->pids = bpf_object__find_map_fd_by_name(maps->object, "pids");
	maps->aggregates = bpf_object__find_map_fd_by_name(maps->object, "aggregates");
	maps->stacks = bpf_object__find_map_fd_by_name(maps->object, "stacks");
	maps->networks = bpf_object__find_map_fd_by_name(maps->object, "networks");
	maps->flows = bpf_object__find_map_fd_by_name(maps->object, "flows");
	maps->flow_names = bpf_object__find_map_fd_by_name(maps->object, "flow_names");
	maps->aggregate_bins = bpf_object__find_map_fd_by_name(maps->object, "aggregate_bins");
	return 0;
}

int shared_maps_create(struct shared_maps *maps, size_t ring_bytes)
{
	int error;

	memset(maps, 0, sizeof(*maps));
	maps->cpus = libbpf_num_possible_cpus();
	if (maps->cpus < 1)
		return failed(maps->cpus, "cannot determine the number of CPUs: %s",
			      strerror(-maps->cpus));
	error = choose_ring_size(maps, ring_bytes);
	if (error)
		return error;
	error = create_ring_buffers(maps);
	if (!error)
		error = load_maps(maps);
	if (!error)
		error = fill_ring_array(maps);
	if (!error)
		error = map_state(maps);
	if (error)
		shared_maps_destroy(maps);
	return failed_system(error);
}

void shared_maps_destroy(struct shared_maps *maps)
{
	if (maps->mappings)
		munmap((void *)maps->mappings, MAPPING_SETS * sizeof(struct mapping_set));
	if (maps->state)
		munmap(maps->state, maps->state_bytes);
	for (int cpu = 0; maps->ring_fds && cpu < maps->cpus; cpu++)
		if (maps->ring_fds[cpu] >= 0)
			close(maps->ring_fds[cpu]);
	free(maps->ring_fds);
	bpf_object__close(maps->object);
	memset(maps, 0, sizeof(*maps));
}

static struct {
	const struct object_source *source;
	const void *(*elf)(size_t *bytes);
} replaced;

void object_replace(const struct object_source *source, const void *(*elf)(size_t *bytes))
{
	replaced.source = elf ? source : NULL;
	replaced.elf = elf;
}

int object_open(struct bpf_object **object, const struct object_source *source, const char *types)
{
	struct bpf_program *program;

	*object = open_elf(source->name, source == replaced.source ? replaced.elf : source->elf,
			   types);
	if (!*object)
		return failed(-errno, "BPF object %s: %s (%s)", source->name, strerror(errno),
			      verifier_log_text());
	bpf_object__for_each_program(program, *object)
		bpf_program__set_autoload(program, false);
	if (types)
		leave_targets_to_us(*object);
	return 0;
}

/* Shared maps, and all others of an earlier load of this object, take the place of its own. */
static int share_maps(struct bpf_object *object, const struct shared_maps *maps,
		      const struct bpf_object *first)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const char *name = bpf_map__name(map);
		int fd = -1, error;

		if (!bpf_map__is_internal(map))
			fd = bpf_object__find_map_fd_by_name(maps->object, name);
		if (fd < 0 && first)
			fd = bpf_object__find_map_fd_by_name(first, name);
		error = fd < 0 ? 0 : bpf_map__reuse_fd(map, fd);
		if (error)
			return failed(error, "sharing BPF map %s: %s", name, strerror(-error));
	}
	return 0;
}

static int set_filter(struct bpf_object *object, const struct capture_filter *filter)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.filter");
	int error;

	if (!map)
		return failed(-ENOENT, "BPF object %s has no filter", bpf_object__name(object));
	error = bpf_map__set_initial_value(map, filter, sizeof(*filter));
	if (error)
		return failed(error, "setting the filter of BPF object %s: %s",
			      bpf_object__name(object), strerror(-error));
	return 0;
}

int object_load(struct bpf_object *object, const struct shared_maps *maps,
		const struct capture_filter *filter, const struct bpf_object *first,
		program_target_fn target, void *self)
{
	int error;

	verifier_log_begin();
	error = first ? 0 : set_filter(object, filter);
	if (!error)
		error = share_maps(object, maps, first);
	if (error)
		return error;
	target_of = target;
	target_self = self;
	error = bpf_object__load(object);
	target_of = NULL;
	if (error && !strcmp(verifier_log_text(), VERIFIER_LOCKED_DOWN))
		return failed(error, "%s", VERIFIER_LOCKED_DOWN);
	if (error)
		return failed(error, "%s%s%s", strerror(-error), verifier_log_text()[0] ? ": " : "",
			      verifier_log_text());
	return 0;
}

const char *object_culprit(void)
{
	return verifier_log_program();
}
