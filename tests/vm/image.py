#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes `kernel` and `initrd` of DIRECTORY from a tree of tests/lab/kernels.sh and DIRECTORY/load.

    image.py TREE DIRECTORY [PROGRAM...]

With programs of this host it is `initrd-PROGRAM-...`, which has them and their libraries, too.
"""
import os
import stat
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lab"))
import image  # noqa: E402

# In the order in which the guest loads them, behind what they need themselves.
MODULES = ("virtio_blk", "virtio_net", "virtio_balloon")


def initrd(tree, directory):
    archive = image.Archive()
    for path in ("dev", "proc", "sys", "tmp"):
        archive.directory(path)
    archive.file("init", os.path.join(directory, "load"))
    archive.file("bin/busybox", image.find_program("busybox"))
    for applet in ("sh", "cat", "dd", "dmesg", "ifconfig", "ip", "ls", "nc", "poweroff", "seq", "sleep", "wget"):
        archive.link(f"bin/{applet}", "busybox")
    release = os.listdir(os.path.join(tree, "lib", "modules"))[0]
    modules = image.Modules(tree, release)
    for number, name in enumerate(modules.closure(MODULES)):
        archive.add(f"lib/modules/{number:02}-{name}.ko", stat.S_IFREG | 0o644, modules.read(name))
    return archive


def write(path, content):
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.rename(path + ".new", path)


def main(tree, directory, *programs):
    kernel, link = image.kernel_file(tree), os.path.join(directory, "kernel")
    if not os.path.lexists(link) or os.readlink(link) != kernel:
        os.symlink(kernel, link + ".new")
        os.rename(link + ".new", link)
    archive = initrd(tree, directory)
    for name in programs:
        image.add_program(archive, image.find_program(name), f"bin/{name}")
    write(os.path.join(directory, "-".join(["initrd", *programs])), archive.bytes())


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except image.Missing as error:
        print(f"lab: {error}", file=sys.stderr)
        sys.exit(1)
