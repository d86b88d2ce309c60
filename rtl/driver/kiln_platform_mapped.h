/* Registers and memory that the processor reaches by pointers: kiln_read32 and the functions beside
 * it, for the platforms that map both (kiln_platform_bare.c, kiln_platform_linux.c). Included once,
 * by the platform. Bytes are copied one by one, because memory that is not cached need not take
 * unaligned accesses. */
#ifndef KILN_PLATFORM_MAPPED_H
#define KILN_PLATFORM_MAPPED_H

#include "kiln_platform.h"

/* Write back and drop the cache lines of a range. */
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

uint32_t kiln_read32(kiln_device* device, uint32_t address) {
  const uint32_t value = *(volatile uint32_t*)(device->registers + address);
  KILN_BARRIER();
  return value;
}

void kiln_write32(kiln_device* device, uint32_t address, uint32_t value) {
  KILN_BARRIER();
  *(volatile uint32_t*)(device->registers + address) = value;
}

void kiln_memory_write(kiln_device* device, uint64_t address, const void* bytes, size_t size) {
  volatile unsigned char* to = device->memory + address;
  size_t i;
  for (i = 0; i < size; ++i) to[i] = ((const unsigned char*)bytes)[i];
  KILN_CLEAN(to, size);
}

void kiln_memory_read(kiln_device* device, uint64_t address, void* bytes, size_t size) {
  volatile unsigned char* from = device->memory + address;
  size_t i;
  KILN_INVALIDATE(from, size);
  for (i = 0; i < size; ++i) ((unsigned char*)bytes)[i] = from[i];
}

#endif /* KILN_PLATFORM_MAPPED_H */
