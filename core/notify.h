/* SPDX-License-Identifier: MIT */
/*
 * The service manager's side of life: state lines to NOTIFY_SOCKET, as systemd reads them. Without
 * that socket nothing happens.
 */
#ifndef TACHO_CORE_NOTIFY_H
#define TACHO_CORE_NOTIFY_H

#include <stdint.h>

/* Sends lines such as "READY=1"; a failure is nobody's concern. */
void notify_send(const char *lines);

/* "RELOADING=1" with the monotonic time that the protocol asks for. */
void notify_reloading(void);

/* How often a sign of life is expected, or 0: WATCHDOG_USEC, when it is meant for us. */
int64_t notify_watchdog_ns(void);

#endif
