/* SPDX-License-Identifier: MIT */
/* CRC-32C; see store_crc.h. Eight bytes at a time by eight tables, or by the SSE 4.2 instruction
 * when the processor that we run on has it. */
#include "core/store_crc.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82F63B78)

static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
        }
        tables[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++) {
        for (int k = 1; k < 8; k++) {
            tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xFF];
        }
    }
}

static uint32_t update_byte(uint32_t crc, uint8_t byte)
{
    return (crc >> 8) ^ tables[0][(crc ^ byte) & 0xFF];
}

static uint32_t update_eight(uint32_t crc, const uint8_t *at)
{
    crc ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return tables[7][crc & 0xFF] ^ tables[6][(crc >> 8) & 0xFF] ^ tables[5][(crc >> 16) & 0xFF] ^
           tables[4][crc >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
           tables[0][at[7]];
}

uint32_t store_crc_portable(uint32_t crc, const void *data, size_t length)
{
    pthread_once(&tables_once, make_tables);
    const uint8_t *at = data;
    crc = ~crc;
    for (; length >= 8; length -= 8, at += 8) {
        crc = update_eight(crc, at);
    }
    while (length--) {
        crc = update_byte(crc, *at++);
    }
    return ~crc;
}

#if defined(__x86_64__)

bool store_crc_is_hardware(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t hardware(uint32_t crc, const uint8_t *at,
                                                           size_t length)
{
    uint64_t wide = ~crc;
    for (; length >= 8; length -= 8, at += 8) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        wide = __builtin_ia32_crc32di(wide, eight);
    }
    uint32_t narrow = (uint32_t)wide;
    while (length--) {
        narrow = __builtin_ia32_crc32qi(narrow, *at++);
    }
    return ~narrow;
}

uint32_t store_crc(uint32_t crc, const void *data, size_t length)
{
    return store_crc_is_hardware() ? hardware(crc, data, length)
                                   : store_crc_portable(crc, data, length);
}

#else

bool store_crc_is_hardware(void)
{
    return false;
}

uint32_t store_crc(uint32_t crc, const void *data, size_t length)
{
    return store_crc_portable(crc, data, length);
}

#endif
