/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82F63B78): the checksum of every frame of a log.
 * "123456789" gives 0xE3069283.
 */
#ifndef TACHO_CORE_STORE_CRC_H
#define TACHO_CORE_STORE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Checksum of data, continued from `crc` (0 at the begin). Takes the processor's instruction where
 * there is one. */
uint32_t store_crc(uint32_t crc, const void *data, size_t length);

/* The same without that instruction. */
uint32_t store_crc_portable(uint32_t crc, const void *data, size_t length);

/* Whether store_crc uses the instruction. */
bool store_crc_is_hardware(void);

#endif
