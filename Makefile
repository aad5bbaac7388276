# SPDX-License-Identifier: GPL-2.0
# Faultline: two programs and their tests. `make help` lists what there is to do.

V        ?= 0
BUILD    ?= build
CC       := gcc
CLANG    ?= clang
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX   ?= /usr/local
SANITIZE ?= 0
VERSION  := 0.1.0

ifeq ($(V),0)
Q   := @
msg  = @printf '  %-8s %s\n' '$(1)' '$(2)';
else
msg :=
endif

# What the kernel gets has no sanitizers: other builds take that of the plain one.
BPF_BUILD := $(if $(filter build/%,$(BUILD)),build,$(BUILD))

CPPFLAGS += -D_GNU_SOURCE -DFAULTLINE_VERSION='"$(VERSION)"' -I. -I$(BPF_BUILD) -MMD -MP
CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu11 -Wall -Wextra -Wno-missing-field-initializers -Werror -fno-omit-frame-pointer -pthread
# The BPF objects within lie apart from the text and the tables that every run reads.
LDFLAGS  += -pthread -Wl,--sort-section=name
ifeq ($(SANITIZE),1)
CFLAGS   += -fsanitize=address,undefined -fno-sanitize-recover=undefined -O1 -g1
LDFLAGS  += -fsanitize=address,undefined
endif
FUZZ_OPTIMIZE ?= 1
ifeq ($(SANITIZE),fuzz)
CFLAGS   += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=pointer-overflow \
            -fno-sanitize-recover=undefined -O$(FUZZ_OPTIMIZE) -g1 -w
LDFLAGS  += -fsanitize=fuzzer,address,undefined
endif
BPF_FLAGS := -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -I. -I/usr/include/x86_64-linux-gnu \
             -Wall -Wextra -Wno-unused-parameter -Werror -MMD -MP

# What draws the plots of pages (tests/uplot/fetch.sh); none: pages have tables and SVG.
UPLOT_DIR ?= $(wildcard $(or $(FAULTLINE_UPLOT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/faultline/uplot)/$(firstword \
	$(file <tools/page/uplot.lock)))

LIB_LIBS    := -lbpf -lelf -lz -lzstd -ljansson -linih -lxxhash -lm
TOOL_LIBS   := -lncursesw -ltinfo -lprotobuf-c -lmicrohttpd
INJECT_LIBS := -libverbs -lmnl
TEST_LIBS   := -lcmocka

sources = $(sort $(foreach d,$(1),$(wildcard $(d)/*.c)))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))

BPF_SRC  := $(sort $(wildcard bpf/*.bpf.c))
BPF_SKEL := $(patsubst %.bpf.c,$(BPF_BUILD)/%.skel.h,$(BPF_SRC))
LIB_SRC  := $(call sources,lib/base lib/capture lib/capture/paths lib/trace lib/analyze lib/translate lib/output lib/job \
	lib/cli lib/protect lib/fabric)
TOOL_SRC := $(call sources,tools tools/top tools/sim tools/protect tools/fleet tools/perfetto tools/page tools/serve \
	tools/diff tools/explain tools/fabric)
# Made of .proto files, beside the skeletons: other builds compile those of the plain one.
PROTO_SRC    := $(wildcard tools/perfetto/*.proto)
PROTO_HEADER := $(patsubst %.proto,$(BPF_BUILD)/%.pb-c.h,$(PROTO_SRC))
TOOL_SRC     += $(patsubst %.proto,%.pb-c.c,$(PROTO_SRC))
# injectors/main.c is the program; the rest is an archive, so that tests can link it.
EMU_SRC  := injectors/consent.c injectors/medium.c injectors/exec.c injectors/machine_networks.c injectors/vm_lines.c \
            $(call sources,injectors/net injectors/guest injectors/emu $(patsubst %/,%,$(wildcard injectors/emu/*/ injectors/emu/devices/*/)) \
            injectors/job injectors/real injectors/cluster)
# What programs of guests have preloaded: of the rest it takes what a guest's process needs, which is nothing of the machine.
LIBRARY_SRC := $(call sources,injectors/guest/library)
GUEST_SRC   := $(call sources,injectors/guest injectors/emu/verbs lib/base) \
               $(wildcard injectors/emu/doorbell.c $(addprefix injectors/emu/hyv/,kernel_pins.c pin_ring.c))
TEST_SRC := $(sort $(wildcard tests/unit/test_*.c))
HELP_SRC := $(filter-out $(TEST_SRC),$(call sources,tests/unit tests/reference))
TESTS    := $(patsubst %.c,$(BUILD)/%,$(TEST_SRC))

# Programs land beside README in the plain build, inside $(BUILD) in any other.
OUT := $(if $(filter build,$(BUILD)),.,$(BUILD))

.DEFAULT_GOAL := all
all: $(if $(wildcard tools/faultline.c),$(OUT)/faultline) $(if $(wildcard injectors/main.c),$(OUT)/faultline-inject) \
	$(OUT)/libfaultline-verbs.so $(OUT)/libfaultline-vm.so

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BPF_BUILD)/%.bpf.o: %.bpf.c Makefile
	@mkdir -p $(@D)
	$(call msg,BPF,$<)
	$(Q)$(CLANG) $(BPF_FLAGS) -c $< -o $@

$(BPF_BUILD)/%.skel.h: $(BPF_BUILD)/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf > $@.tmp && mv $@.tmp $@

$(BPF_BUILD)/%.pb-c.h $(BPF_BUILD)/%.pb-c.c: %.proto
	@mkdir -p $(@D)
	$(call msg,PROTO,$<)
	$(Q)protoc-c --c_out=$(BPF_BUILD) $<

$(BUILD)/%.pb-c.o: $(BPF_BUILD)/%.pb-c.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BUILD)/%.o: %.c Makefile | $(BPF_SKEL) $(PROTO_HEADER)
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# What a page has within it; anew where its folder is another one.
$(BUILD)/tools/page/assets.o: CPPFLAGS := -I$(BUILD) $(CPPFLAGS)
$(BUILD)/tools/page/assets.o: $(BUILD)/tools/page/assets_made.h
$(BUILD)/tools/page/assets_made.h: tools/page/assets.sh tools/page/page.css tools/page/page.js $(BUILD)/tools/page/uplot_dir
	$(Q)tools/page/assets.sh '$(UPLOT_DIR)' > $@.tmp && mv $@.tmp $@
	$(if $(UPLOT_DIR),,@echo '  no uPlot: pages will have tables and SVG (tests/uplot/fetch.sh fetches it)')
$(BUILD)/tools/page/uplot_dir: always
	@mkdir -p $(@D)
	@echo '$(UPLOT_DIR)' | cmp -s - $@ || echo '$(UPLOT_DIR)' > $@
always:
# The same program without uPlot, for tests; `with` is empty where the other has none, either.
$(BUILD)/plain/tools/page/assets_made.h: tools/page/assets.sh tools/page/page.css tools/page/page.js
	@mkdir -p $(@D)
	$(Q)tools/page/assets.sh '' > $@.tmp && mv $@.tmp $@
$(BUILD)/plain/tools/page/assets.o: tools/page/assets.c $(BUILD)/plain/tools/page/assets_made.h
	$(call msg,CC,$< (without uPlot))
	$(Q)$(CC) -I$(BUILD)/plain $(CPPFLAGS) $(CFLAGS) -c $< -o $@
$(BUILD)/plain/faultline: $(BUILD)/plain/tools/page/assets.o $(filter-out %/page/assets.o,$(call objects,$(TOOL_SRC))) \
		$(BUILD)/libfaultline.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) $(TOOL_LIBS)
	@printf '%s' '$(UPLOT_DIR)' > $(@D)/with

$(BUILD)/libfaultline.a: $(call objects,$(LIB_SRC))
$(BUILD)/libinject.a: $(call objects,$(EMU_SRC))
$(BUILD)/%.a:
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(OUT)/faultline: $(call objects,$(TOOL_SRC)) $(BUILD)/libfaultline.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) $(TOOL_LIBS)

$(OUT)/faultline-inject: $(BUILD)/injectors/main.o $(BUILD)/libinject.a $(BUILD)/libfaultline.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) $(INJECT_LIBS)

# Without sanitizers in any build, as the programs that it is preloaded into have none: other builds take the objects
# of the plain one.
PIC := $(BPF_BUILD)/pic
$(PIC)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call msg,PIC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize% -fno-sanitize%,$(CFLAGS)) -O2 -fPIC -c $< -o $@
$(PIC)/libguest.a: $(patsubst %.c,$(PIC)/%.o,$(GUEST_SRC))
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^
$(OUT)/libfaultline-verbs.so: $(patsubst %.c,$(PIC)/%.o,$(LIBRARY_SRC)) $(PIC)/libguest.a \
		injectors/guest/library/verbs.map
	$(call msg,LINK,$@)
	$(Q)$(CC) $(filter-out -fsanitize% -fno-sanitize%,$(LDFLAGS)) -shared -Wl,-z,defs -Wl,-Bsymbolic \
		-Wl,--version-script=injectors/guest/library/verbs.map -Wl,-soname,$(notdir $@) -o $@ \
		$(filter %.o,$^) $(filter %.a,$^)

# Preloaded into QEMU: libc alone, and no name of its own but those of libc that it takes the place of.
VM_LIBRARY_SRC := $(call sources,injectors/vm/library)
$(OUT)/libfaultline-vm.so: $(patsubst %.c,$(PIC)/%.o,$(VM_LIBRARY_SRC)) injectors/vm/library/vm.map
	$(call msg,LINK,$@)
	$(Q)$(CC) $(filter-out -fsanitize% -fno-sanitize%,$(LDFLAGS)) -shared -Wl,-z,defs \
		-Wl,--version-script=injectors/vm/library/vm.map -Wl,-soname,$(notdir $@) -o $@ $(filter %.o,$^)

# One file that needs nothing of the host that it is copied to. packaging/static.c stands in for what shared
# libraries and files of the host would give. That glibc would ask shared objects for names of users is what the
# linker warns of: not before static.c has told it otherwise.
$(BUILD)/static/faultline: $(call objects,$(TOOL_SRC) packaging/static.c) $(BUILD)/libfaultline.a
	@mkdir -p $(@D)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -static -Wl,--no-warnings -o $@ $^ $(LIB_LIBS) $(TOOL_LIBS)

# What terminals understand, where the host has no terminfo.
TERMINALS := linux vt100 vt220 screen screen-256color tmux tmux-256color xterm xterm-256color
$(BUILD)/packaging/terminals.h: Makefile
	@mkdir -p $(@D)
	$(Q)set -e; for t in $(TERMINALS); do said=$$(infocmp -0 -q -Q1 $$t); printf '{"%s", "%s"},\n' $$t "$$said"; done >$@
$(BUILD)/packaging/static.o: $(BUILD)/packaging/terminals.h
$(BUILD)/packaging/static.o: CPPFLAGS += -I$(BUILD)/packaging

# cmocka gives each test a state, which few of them use.
$(BUILD)/tests/unit/%.o: CFLAGS += -Wno-unused-parameter

# A unit test may use any module: tools' objects except the program's main are linked too.
$(BUILD)/libtests.a: $(call objects,$(HELP_SRC) $(filter-out tools/faultline.c,$(TOOL_SRC)))
$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(BUILD)/libtests.a $(BUILD)/libinject.a \
		$(BUILD)/libfaultline.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIB_LIBS) $(INJECT_LIBS) $(TOOL_LIBS) $(TEST_LIBS)

$(BUILD)/bench/programs_bench.o: | $(BPF_BUILD)/bench/peers.skel.h
$(BUILD)/bench/programs_bench: $(BUILD)/bench/program_arguments.o
$(BUILD)/bench/hyv_verbs_bench $(BUILD)/bench/hyv_events_bench $(BUILD)/bench/hyv_data_bench: $(BUILD)/bench/hyv_sides.o \
	$(BUILD)/bench/rdma_ends.o
$(BUILD)/bench/rdma_bench: $(BUILD)/bench/rdma_ends.o
$(BUILD)/bench/vm_load: $(BUILD)/bench/vm_driver.o
$(BUILD)/bench/serve_bench: $(BUILD)/bench/serve_bench.o \
		$(filter-out $(BUILD)/tools/faultline.o,$(call objects,$(TOOL_SRC))) $(BUILD)/libfaultline.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) $(TOOL_LIBS)
$(BUILD)/bench/slow_model_bench: $(call objects,$(call sources,tests/reference))
$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libinject.a $(BUILD)/libfaultline.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIB_LIBS) $(INJECT_LIBS)

# Fuzz targets: all of the code is instrumented, so it is built once more, by clang, in a folder of its own:
# make CC=clang BUILD=build/fuzz SANITIZE=fuzz fuzz-programs. FUZZ_OPTIMIZE=0 is built in less than half the time, for runs
# that are shorter than that.
FUZZ_PROGRAMS := $(patsubst tests/fuzz/%.c,$(BUILD)/bin/%,$(call sources,tests/fuzz))
fuzz-programs: $(FUZZ_PROGRAMS)
$(BUILD)/bin/%: $(BUILD)/tests/fuzz/%.o $(call objects,$(call sources,tests/fuzz/made) \
		$(addprefix tests/unit/,stream_log.c rx_model.c rx_world.c verbs_fake.c)) \
		$(filter-out $(BUILD)/tools/faultline.o,$(call objects,$(TOOL_SRC))) \
		$(BUILD)/libinject.a $(BUILD)/libfaultline.a
	@mkdir -p $(@D)
	$(call msg,FUZZ,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--wrap=trace_unpack,--wrap=trace_get_aggregate \
		-o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIB_LIBS) $(INJECT_LIBS) $(TOOL_LIBS)

# Programs that scenarios run in guests.
LAB_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(call sources,tests/lab/programs)) $(BUILD)/tests/unit/test_refused
$(BUILD)/tests/lab/programs/%: $(BUILD)/tests/lab/programs/%.o $(BUILD)/libinject.a $(BUILD)/libfaultline.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) $(INJECT_LIBS)
lab-programs: $(LAB_PROGRAMS)

bench-programs: $(patsubst %.c,$(BUILD)/%,$(filter-out bench/program_arguments.c bench/hyv_sides.c bench/rdma_ends.c bench/vm_driver.c bench/%.bpf.c,$(sort $(wildcard bench/*.c))))

$(BUILD)/tests/unit/test_refused.o: | $(BPF_BUILD)/tests/bpf/refused.skel.h

# Tests on a machine without device models; its truth recorder takes the place of the truth log.
$(addprefix $(BUILD)/tests/unit/test_,port port_request port_storm evict pins idle_pages protector memory_limit memory_views verbs_control verbs_data \
	verbs_hostile hyv_host hyv_host_events hyv_host_life hyv_host_hostile): $(BUILD)/tests/unit/rig/rig.o
# Ranks over verbs that have no device.
$(addprefix $(BUILD)/tests/unit/test_,ranks ranks_memory): $(BUILD)/tests/unit/rig/verbs_loop.o
$(BUILD)/tests/unit/test_verbs_load: $(BUILD)/tests/unit/rig/verbs_loop.o $(BUILD)/tests/unit/rig/load_host.o

# libibverbs' interface in front of libibverbs', over verbs that have a wire for a device.
$(addprefix $(BUILD)/tests/unit/test_verbs_,library library_devices library_events): \
	$(addprefix $(BUILD)/tests/unit/rig/,verbs_wire.o verbs_wire_objects.o) $(call objects,$(LIBRARY_SRC))

# What a process has preloaded that is a QEMU to its host.
$(BUILD)/tests/unit/fake_qemu.o: CPPFLAGS += -DFAULTLINE_VM_LIBRARY='"$(OUT)/libfaultline-vm.so"'
$(addprefix $(BUILD)/tests/unit/test_vm_,handover memory refusals): | $(OUT)/libfaultline-vm.so

tests: $(TESTS)
unit: tests ## build and run the unit tests only
	$(Q)set -e; for t in $(TESTS); do printf '== %s\n' $$t; $$t; done

units: ## unit tests of both builds with all that the check does a part of
	$(Q)tests/setup.sh check
	$(Q)UNITS=full tests/check.sh build unit unit-asan

# Needs nothing of the tests that it runs.
$(BUILD)/tests/stall: $(BUILD)/tests/stall.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^
stalled: tests $(BUILD)/tests/stall ## unit tests while one thread at a time stands still: SEED=N (1)
	$(Q)tests/suites/stalled.sh

# The four user-facing commands install what they need first; a sub-make sees the new packages.
demo: ## install what is missing, build, run the shipped demo under capture, explain it
	$(Q)tests/setup.sh demo
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) all
	$(Q)dashboards/demo.sh

check: ## install what is missing, build, run every test
	$(Q)tests/setup.sh check
	$(Q)tests/check.sh

fresh: ## demo and check in a new Debian 12: FRESH_CACHE=none fetches guest kernels, too
	$(Q)tests/setup.sh fresh
	$(Q)tests/fresh.sh

lab: ## run scenarios in guest kernels: KERNEL=6.1|6.12|new (all), SCENARIO=NAME (all)
	$(Q)tests/setup.sh lab
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) all lab-programs
	$(Q)tests/lab/lab.py run $(addprefix -k ,$(KERNEL)) $(addprefix -s ,$(SCENARIO))

# What jobs with `backend = vm` boot: build/vm/kernel, build/vm/initrd, and one that has iperf3.
vm-guest: ## make the guest that shipped jobs of virtual machines boot
	$(Q)tests/setup.sh lab
	$(Q)tests/vm/guest.sh with iperf3

lab-vm: ## stock virtual machines: KILLS=200 SIGKILLs, and their campaigns with full grids (an hour)
	$(Q)tests/setup.sh lab
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) all
	$(Q)tests/vm/lab.sh

vm-demo: ## a stock virtual machine under a reclaimer, its disk busy, `top` beside it
	$(Q)tests/setup.sh lab
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) all
	$(Q)dashboards/vm-demo.sh

lab-shell: ## a prompt in a guest kernel: KERNEL=6.1|6.12|new (new), SCENARIO=NAME for what it needs
	$(Q)tests/setup.sh lab
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) all lab-programs
	$(Q)tests/lab/lab.py shell $(addprefix -k ,$(KERNEL)) $(addprefix -s ,$(SCENARIO))

bench: ## install what is missing, build, measure beside the named peers
	$(Q)tests/setup.sh bench
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) all bench-programs
	$(Q)/usr/bin/python3 bench/bench.py

campaigns: all ## run the shipped campaigns with their full grids
	$(Q)tests/campaigns.sh full

expectations: all ## break each expectation of each campaign: the longer form of suite `expectations`
	$(Q)EXPECTATIONS=all tests/e2e/expectations.sh

# Suites of what operators' programs read; in `make check` they run in their smallest form.
FACE := perfetto page serve rules dashboards diff explain package service
face-check: ## Perfetto, browsers, Prometheus, Grafana, the package and its guest in full
	$(Q)tests/setup.sh check
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) all
	$(Q)FACE=full tests/check.sh $(FACE)

soak: all ## ten minutes of record and inject, memory must stay flat
	$(Q)SOAK_SECONDS=600 tests/e2e/soak.sh

kills: all ## SIGKILL four hundred recorders, as many injectors and five hundred hosts and users at random instants
	$(Q)KILLS=400 tests/e2e/kill.sh
	$(Q)KILLS=500 tests/e2e/smartio.sh
	$(Q)KILLS=500 tests/e2e/smartio.sh

fuzz-long: ## fuzz for FUZZ_SECONDS a target (3600), count the inputs in the file FUZZ_COUNT
	$(Q)tests/setup.sh check
	$(Q)FUZZ_SECONDS=$(or $(FUZZ_SECONDS),3600) FUZZ_COUNT=$(or $(FUZZ_COUNT),$(HOME)/.cache/faultline/fuzz-count) \
		tests/suites/fuzz.sh

mutate: ## break the code in every small way, most of a day: MUTATE=FILE... (all)
	$(Q)tests/setup.sh check
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) tests
	$(Q)/usr/bin/python3 tests/mutate/mutate.py $(MUTATE)

hostile: ## what strangers give to root's programs: the longer form of suites `hostile` and `fuzz`
	$(Q)tests/setup.sh check
	$(Q)+$(MAKE) --no-print-directory -j$$(nproc) all
	$(Q)HOSTILE=long FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) tests/check.sh hostile fuzz

# What is made of the tables of options: pages and completion. A build for another machine runs its programs here.
MADE := $(BUILD)/made
$(MADE)/.stamp: $(wildcard docs/man/*) $(OUT)/faultline $(OUT)/faultline-inject
	$(call msg,PAGES,$(MADE))
	$(Q)rm -rf $(MADE)
	$(Q)docs/man/pages.py $(MADE)/man $(OUT) $(DATE)
	$(Q)docs/man/completions.py $(MADE)/completion $(OUT)
	$(Q)touch $@
pages: $(MADE)/.stamp ## manual pages and completion of bash and zsh, into build/made

# MANIFEST=0: without the list that `uninstall` goes by, where a package manager has one.
install: all pages ## copy programs, jobs, pages, completion and dashboards to $(DESTDIR)$(PREFIX)
	$(Q)packaging/install.sh install "$(DESTDIR)" "$(PREFIX)" "$(OUT)" "$(MADE)" $(MANIFEST)

uninstall: ## remove what `make install` with the same DESTDIR and PREFIX has put there, nothing else
	$(Q)packaging/install.sh uninstall "$(DESTDIR)" "$(PREFIX)"

static: $(BUILD)/static/faultline ## build/static/faultline: one file that runs on any host of this architecture

clean: ## remove everything built
	rm -rf build faultline faultline-inject libfaultline-verbs.so libfaultline-vm.so

-include $(shell find $(sort $(BUILD) $(PIC) $(BPF_BUILD)/bpf) -name '*.d' 2>/dev/null)

.PHONY: all always help tests unit units demo check stalled face-check fresh lab lab-shell lab-vm vm-demo vm-guest lab-programs bench bench-programs campaigns expectations soak kills fuzz-programs fuzz-long mutate hostile pages install uninstall static clean
.DELETE_ON_ERROR:
.SECONDARY:
