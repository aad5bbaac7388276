/* SPDX-License-Identifier: GPL-2.0 */
/* The user behind sudo: whose files and processes ours should be. */
#ifndef FAULTLINE_USER_H
#define FAULTLINE_USER_H

#include <stdbool.h>
#include <sys/types.h>

/* True if we are root on behalf of another user, whom $SUDO_UID and $SUDO_GID name. */
bool user_behind_sudo(uid_t *uid, gid_t *gid);

/*
 * -EBADMSG with a sentence if we are root, and these are set but say not on whose behalf: what should run as
 * that user would run as root.
 */
int user_check_sudo(void);

/*
 * For a child, ahead of its exec: becomes that user for good, with the groups and $HOME, $USER and $LOGNAME that
 * it has. False if the system refused any of it.
 */
bool user_become(uid_t uid, gid_t gid);

/* Programs of guests run as: sudo's caller, else nobody. */
void user_of_programs(uid_t *uid, gid_t *gid);

#endif
