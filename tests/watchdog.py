#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Ends what hangs, and nothing that is only slow: limits are CPU time and stillness, never the clock's time.

    watchdog.py run [--cpu SECONDS] [--quiet SECONDS] -- COMMAND...
        runs a command with all that it starts; exits as it does, or with 124 after ending it
    watchdog.py sample PID [NAME=VALUE]
        prints "CPU_MS STATE" of what runs below PID or has that in its environment, PID itself left out;
        STATE is `busy` if one of them runs or waits for a CPU, `still` if all sleep

What it started is ended with it, also if it is killed itself.

A busy machine makes a process wait, which uses no CPU time, in a state that is not sleep. What polls uses
some, and for ever. So a command has hung if in `quiet` seconds it printed nothing, used less than a
twentieth of one CPU, and was found waiting for a CPU in less than a quarter of the looks; and it spins if
it has used more than `cpu` seconds since it last printed, or ten times as many in all.
"""
import argparse
import collections
import ctypes
import glob
import os
import signal
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PRCTL = ctypes.CDLL(None).prctl
ENDED = 124
IDLE_SHARE, BUSY_LOOKS = 1 / 20, 1 / 4


class Process:
    """One line of /proc/PID/stat: what it used, its children that ended included, in seconds."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        self.pid, self.state, self.parent = int(pid), fields[0], int(fields[1])
        self.cpu = sum(int(field) for field in fields[11:15]) / TICKS

    @property
    def waits_for_cpu(self):
        """In any of its threads."""
        for path in glob.glob(f"/proc/{self.pid}/task/*/stat"):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    if file.read().rpartition(")")[2].split()[0] == "R":
                        return True
            except (FileNotFoundError, ProcessLookupError):
                pass
        return False


def processes():
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found[int(name)] = Process(name)
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def below(pid, everything):
    """What a process has started, and what that has started."""
    children = {}
    for one in everything.values():
        children.setdefault(one.parent, []).append(one)
    found, left = [], [pid]
    while left:
        some = children.get(left.pop(), ())
        found += some
        left += [one.pid for one in some]
    return found


def has_environment(pid, wanted):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return wanted in file.read().split(b"\0")
    except OSError:
        return False


def sample(pid, environment=None):
    """(CPU seconds, does one of them run or want to) of all that belongs to a process."""
    everything = processes()
    found = {one.pid: one for one in below(pid, everything)}
    if environment:
        found.update({one.pid: one for one in everything.values() if has_environment(one.pid, environment.encode())})
    for own in (os.getpid(), os.getppid(), pid):
        found.pop(own, None)
    return sum(one.cpu for one in found.values()), any(one.waits_for_cpu for one in found.values())


class Watch:
    """Decides, one look after the other, whether something hangs or spins."""

    def __init__(self, cpu, quiet, total=None):
        self.cpu, self.quiet, self.total = cpu, quiet, total or cpu * 10
        self.looks = collections.deque()  # (time, CPU seconds, busy) of as many as `quiet` takes
        self.printed_at = 0.0
        self.output = None

    def look(self, used, busy, output):
        """What is wrong, or None. used: CPU seconds; busy: is anything runnable; output: changes when it prints."""
        if output != self.output:
            self.output, self.printed_at = output, used
            self.looks.clear()
        self.looks.append((time.monotonic(), used, busy))
        if self.idle():
            return f"in {self.quiet:g} s it printed nothing and used {used - self.looks[0][1]:.2f} s of CPU time"
        if used - self.printed_at > self.cpu:
            return f"it used {used - self.printed_at:.0f} s of CPU time without a word"
        if used > self.total:
            return f"it used {used:.0f} s of CPU time"
        return None

    def idle(self):
        """Over the last `quiet` seconds, if it has been looked at for so long."""
        end, used, _ = self.looks[-1]
        while len(self.looks) > 1 and end - self.looks[1][0] >= self.quiet:
            self.looks.popleft()
        begin, used_before, _ = self.looks[0]
        return (end - begin >= self.quiet and used - used_before < IDLE_SHARE * (end - begin) and
                sum(busy for _, _, busy in self.looks) < BUSY_LOOKS * len(self.looks))


def reap():
    """{pid: exit status} of all that ended below this process since the last time."""
    ended = {}
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        pass
    return ended


def kill_all():
    """Whatever is left below this process ends, also what is left by others meanwhile."""
    looks = 2  # a child that changes its parent while it is looked for is found the second time
    while looks:
        left = [one for one in below(os.getpid(), processes()) if one.state != "Z"]
        for one in left:
            try:
                os.kill(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap()
        looks = 2 if left else looks - 1
        time.sleep(0.05)


def output_size():
    try:
        return os.fstat(1).st_size
    except OSError:
        return 0


def stop(number, _):
    raise SystemExit(128 + number)


def run(options):
    # What its children leave behind becomes ours: it is counted, reaped and in the end killed, too. And
    # this ends as if told to when whoever started it is killed.
    PRCTL(PR_SET_CHILD_SUBREAPER, 1)
    PRCTL(PR_SET_PDEATHSIG, signal.SIGTERM)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    try:
        return watched(options)
    finally:
        kill_all()
        tell_used(options.told)


def start(command):
    """The process of a command, which is killed if this one is, so that it cannot be left to spin."""
    watchdog = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)
        # Python ignores signals that its children shall not.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if os.getppid() == watchdog:
            os.execvp(command[0], command)
    except OSError as error:
        print(f"watchdog: {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
    finally:
        os._exit(127)


def watched(options):
    """The exit status of a command, or ENDED."""
    child = start(options.command)
    watch, next_look = Watch(options.cpu, options.quiet), time.monotonic() + options.every
    while True:
        signal.sigtimedwait({signal.SIGCHLD}, max(next_look - time.monotonic(), 0.01))
        ended = reap()
        if child in ended:
            return ended[child] if ended[child] >= 0 else 128 - ended[child]
        if time.monotonic() < next_look:
            continue
        mine = below(os.getpid(), processes())
        used = sum(os.times()[2:4]) + sum(one.cpu for one in mine)
        wrong = watch.look(used, any(one.waits_for_cpu for one in mine), output_size())
        if wrong:
            names = "; ".join(f"{one.pid} {command_of(one.pid)}" for one in mine)
            print(f"watchdog: ended: {wrong}; there were: {names}", file=sys.stderr, flush=True)
            return ENDED
        next_look = time.monotonic() + options.every


def tell_used(path):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{sum(os.times()[2:4]):.0f}\n")


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()[:100]
    except OSError:
        return "?"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    one = actions.add_parser("run")
    one.add_argument("--cpu", type=float, default=600)
    one.add_argument("--quiet", type=float, default=300)
    one.add_argument("--every", type=float, default=2, help="seconds between two looks")
    one.add_argument("--told", help="file to leave the CPU seconds in that were used")
    one.add_argument("command", nargs="+")
    two = actions.add_parser("sample")
    two.add_argument("pid", type=int)
    two.add_argument("environment", nargs="?")
    options = parser.parse_args()
    if options.action == "run":
        return run(options)
    used, busy = sample(options.pid, options.environment)
    print(int(used * 1000), "busy" if busy else "still")
    return 0


if __name__ == "__main__":
    sys.exit(main())
