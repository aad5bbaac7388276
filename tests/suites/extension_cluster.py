# SPDX-License-Identifier: GPL-2.0
"""What suite `extension` adds of injectors/cluster: a message between hosts, whose handler is a file, and a step."""

FILES = {
    "injectors/cluster/toy.c": r"""// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/message.h"

int toy_serve(struct cluster *cluster, struct message *message)
{
	(void)cluster;
	message->words[0]++;
	return 0;
}
""",
}
LINES = {
    "injectors/cluster/messages.def": "MESSAGE(TOY, toy_serve)\n",
    "bpf/cluster_steps.def": 'CLUSTER_STEP(TOY, "toy_squeaks")\n',
}
JOB = """[host a]
[device d]
under = a
[borrow b]
host = a
device = d
ios = 7
[inject kill]
action = host_kill
host = a
step = """


def add_to(tree):
    for path, text in FILES.items():
        (tree / path).write_text(text, encoding="utf-8")
    for path, line in LINES.items():
        with open(tree / path, "a", encoding="utf-8") as file:
            file.write(line)


def see_in_jobs(tree, run, check):
    def dry_run(step):
        (tree / "step.ini").write_text(JOB + step + "\n", encoding="utf-8")
        return run(tree, "./faultline-inject", "run", "step.ini", "--dry-run")

    status, out, said = dry_run("toy_squeaks")
    check("who comes to the step may be killed there", status == 0, out + said)
    status, out, said = dry_run("toy")
    check("a step that there is not is refused", status == 3 and "step.ini:11: " in said, out + said)
