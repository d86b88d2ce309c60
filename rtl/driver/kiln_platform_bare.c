/* The platform without an operating system: the machine's registers and its memory are at fixed
 * addresses. Compile with the addresses of your system:
 *
 *   -DKILN_REGISTERS_ADDRESS=0x...  of the AXI4-Lite port, as the processor sees it
 *   -DKILN_MEMORY_ADDRESS=0x...     of the machine's memory, as the processor sees it
 *   -DKILN_MEMORY_BUS=0x...         of that memory as the machine's buses see it, where this is
 *                                   another address
 *
 * The memory must not be cached, or KILN_CLEAN(pointer, bytes) and KILN_INVALIDATE(pointer, bytes)
 * must be defined, which write back and drop the cache lines of a range. `where` is ignored. */
#include "kiln_platform_mapped.h"

#if !defined(KILN_REGISTERS_ADDRESS) || !defined(KILN_MEMORY_ADDRESS)
#error "define KILN_REGISTERS_ADDRESS and KILN_MEMORY_ADDRESS"
#endif
#ifndef KILN_MEMORY_BUS
#define KILN_MEMORY_BUS KILN_MEMORY_ADDRESS
#endif

int kiln_open(kiln_device* device, const char* where, uint64_t memory_bytes) {
  (void)where;
  device->registers = (volatile unsigned char*)(uintptr_t)(KILN_REGISTERS_ADDRESS);
  device->memory = (volatile unsigned char*)(uintptr_t)(KILN_MEMORY_ADDRESS);
  device->memory_bus = (uint64_t)(KILN_MEMORY_BUS);
  device->memory_bytes = memory_bytes;
  return 0;
}

void kiln_close(kiln_device* device) { (void)device; }

void kiln_pause(kiln_device* device) { (void)device; }
