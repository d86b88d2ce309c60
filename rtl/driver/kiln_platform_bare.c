/* The platform without an operating system: the machine's registers and its memory are at fixed
 * addresses. Compile with the addresses of your system:
 *
 *   -DKILN_REGISTERS_ADDRESS=0x...  of the AXI4-Lite port, as the processor sees it
 *   -DKILN_MEMORY_ADDRESS=0x...     of the memory that the machine sees at its address 0
 *
 * The memory must not be cached, or KILN_CLEAN(pointer, bytes) and KILN_INVALIDATE(pointer, bytes)
 * must be defined, which write back and drop the cache lines of a range. `where` is ignored. */
#include "kiln_platform.h"

#if !defined(KILN_REGISTERS_ADDRESS) || !defined(KILN_MEMORY_ADDRESS)
#error "define KILN_REGISTERS_ADDRESS and KILN_MEMORY_ADDRESS"
#endif
#ifndef KILN_CLEAN
#define KILN_CLEAN(pointer, bytes) ((void)(pointer), (void)(bytes))
#endif
#ifndef KILN_INVALIDATE
#define KILN_INVALIDATE(pointer, bytes) ((void)(pointer), (void)(bytes))
#endif
/* Accesses before it are done before those after it. */
#ifndef KILN_BARRIER
#define KILN_BARRIER() __sync_synchronize()
#endif

int kiln_open(kiln_device *device, const char *where, uint64_t memory_bytes) {
  (void)where;
  device->registers = (volatile unsigned char *)(uintptr_t)(KILN_REGISTERS_ADDRESS);
  device->memory = (volatile unsigned char *)(uintptr_t)(KILN_MEMORY_ADDRESS);
  device->memory_bytes = memory_bytes;
  return 0;
}

void kiln_close(kiln_device *device) { (void)device; }

uint32_t kiln_read32(kiln_device *device, uint32_t address) {
  const uint32_t value = *(volatile uint32_t *)(device->registers + address);
  KILN_BARRIER();
  return value;
}

void kiln_write32(kiln_device *device, uint32_t address, uint32_t value) {
  KILN_BARRIER();
  *(volatile uint32_t *)(device->registers + address) = value;
}

void kiln_memory_write(kiln_device *device, uint64_t address, const void *bytes, size_t size) {
  volatile unsigned char *to = device->memory + address;
  size_t i;
  for (i = 0; i < size; ++i) to[i] = ((const unsigned char *)bytes)[i];
  KILN_CLEAN(to, size);
}

void kiln_memory_read(kiln_device *device, uint64_t address, void *bytes, size_t size) {
  volatile unsigned char *from = device->memory + address;
  size_t i;
  KILN_INVALIDATE(from, size);
  for (i = 0; i < size; ++i) ((unsigned char *)bytes)[i] = from[i];
}

void kiln_pause(kiln_device *device) { (void)device; }
