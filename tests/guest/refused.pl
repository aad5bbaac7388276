# SPDX-License-Identifier: GPL-2.0
# What a process can do here, a line each: "NAME yes" or "NAME no REASON". It runs with the unit's rights, and with
# root's as the control: what root cannot, either, would prove nothing. Each is tried in a child, and is undone or
# harmless. Numbers of calls are those of x86-64.
use strict;
use warnings;
use Fcntl;
use Socket;

my $state  = $ENV{STATE_DIRECTORY} // '/var/lib/faultline';
my $victim = int($ENV{VICTIM} // 1);    # a process of root's; a string would be passed by its address
my ($none, $mnt, $tmpfs, $nowhere, $empty) = ('none', '/mnt', 'tmpfs', '/nowhere', '');

sub can {
    my ($name, $try) = @_;
    my $child = fork // die;
    if (!$child) {
        my $done = $try->();
        my $why = "$!";
        syswrite(STDOUT, $done ? "$name yes\n" : "$name no $why\n");
        exit 0;
    }
    waitpid($child, 0);
    print "$name no signal\n" if $?;
}
sub calls { return syscall($_[0], @_[ 1 .. $#_ ]) >= 0 }
sub reads { my $file; return open($file, '<', $_[0]) && defined sysread($file, my $text, 8192) }
sub opens { return sysopen(my $file, $_[0], O_WRONLY) }
sub lists { return opendir(my $list, $_[0]) }

sub writes {
    my $file = "$_[0]/faultline-refused";
    return sysopen(my $made, $file, O_CREAT | O_WRONLY) && unlink $file;
}

$| = 1;
can("write $_", sub { writes($_) }) for '/etc', '/usr/bin', '/run', '/var/lib', '/tmp/..';
can("write $_", sub { opens($_) }) for '/sys/fs/cgroup/cgroup.procs', '/proc/sys/kernel/core_pattern', '/sys/kernel/mm/ksm/run';
can("list $_",  sub { lists($_) }) for '/home/somebody', '/root', '/usr/lib/modules', '/sys/kernel/tracing', '/sys/fs/bpf';
can("read $_",  sub { reads($_) }) for '/etc/shadow', '/dev/kmsg', '/proc/kallsyms', '/dev/vda', '/dev/mem';
can('read environ', sub { reads("/proc/$victim/environ") });
can('ptrace',  sub { calls(101, 0x4206, $victim, 0, 0) });
can('signal',  sub { kill 0, $victim });
can('memory of others', sub { opens("/proc/$victim/mem") });
can("socket $_", sub { socket(my $socket, $_, SOCK_DGRAM, 0) }) for PF_INET, PF_INET6, PF_UNIX;
can("socket $_", sub { socket(my $socket, $_, SOCK_RAW,   0) }) for 16, 17;    # netlink, packet
can('module', sub { !calls(313, -1, $empty, 0) && $!{EBADF} });
can('mount',  sub { calls(165, $none, $mnt, $tmpfs, 0, 0) && calls(166, $mnt, 0) });
can("namespace $_", sub { calls(272, hex $_) }) for '0x10000000', '0x40000000', '0x20000', '0x20000000', '0x4000000';
can('clock',    sub { my $now = pack('qq', time, 0); calls(227, 0, $now) });
can('realtime', sub { my $priority = pack('i', 1); calls(144, 0, 1, $priority) });
can('priority', sub { calls(141, 0, 0, -5) });
can('executable memory', sub { calls(9, 0, 4096, 7, 0x22, -1, 0) });
can('personality', sub { calls(135, 8) });
can('set-uid file', sub {
    my $file = "$state/faultline-set-uid";
    my $done = sysopen(my $made, $file, O_CREAT | O_WRONLY, 0600) && chmod(04755, $file);
    my $why = $!;
    unlink $file;
    $! = $why;
    return $done;
});
can('be root', sub { calls(105, 0) });
can('keyring', sub { calls(250, 0, -1, 1) });
can('swap',    sub { !calls(168, $nowhere, 0) && $!{ENOENT} });
can('reboot',  sub { !calls(169, 0, 0, 0, 0) && $!{EINVAL} });
can('its state', sub { writes($state) });
can('its BPF',   sub { my $map = pack('LLLLL', 2, 4, 8, 1, 0) . "\0" x 100; calls(321, 0, $map, 120) });
