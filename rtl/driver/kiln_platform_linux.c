/* The platform of Linux in user space. `where` is one of
 *
 *   /dev/uioN             a UIO device: its map 0 is the registers, its map 1 the memory
 *   REGISTERS,MEMORY      physical addresses in /dev/mem, for instance 0xa0000000,0x70000000
 *
 * and by default /dev/uio0. MEMORY is what the machine has at its address 0. Reserve it from the
 * kernel (a reserved-memory node with no-map), so that it is contiguous and not cached.
 *
 * The machine's buses are taken to see that memory at its physical address, which is MEMORY or the
 * address of map 1 in /sys/class/uio. Define KILN_MEMORY_BUS where they see it elsewhere. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kiln_platform_mapped.h"
#include "kiln_registers.h"

#define PAUSE_NANOSECONDS 10000L

static volatile unsigned char* map_bytes(int file, uint64_t bytes, off_t offset) {
  void* at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  return at == MAP_FAILED ? NULL : (volatile unsigned char*)at;
}

/* Reads REGISTERS,MEMORY. */
static int is_pair(const char* where, off_t* registers, off_t* memory) {
  char* end;
  *registers = (off_t)strtoull(where, &end, 0);
  if (end == where || *end != ',') return 0;
  where = end + 1;
  *memory = (off_t)strtoull(where, &end, 0);
  return end != where && *end == '\0';
}

#if defined(KILN_BUS_WORDS) && !defined(KILN_MEMORY_BUS)
/* Reads the physical address of map 1 of /dev/uioN. Returns -1 with errno set if there is none. */
static int read_map_address(const char* file, uint64_t* address) {
  char name[256], text[32];
  const char* device = strrchr(file, '/');
  FILE* maps;
  char* end = NULL;
  device = device != NULL ? device + 1 : file;
  if (strlen(device) > 64) return -1;
  sprintf(name, "/sys/class/uio/%s/maps/map1/addr", device);
  maps = fopen(name, "r");
  if (maps == NULL) return -1;
  if (fgets(text, (int)sizeof text, maps) != NULL) *address = strtoull(text, &end, 0);
  fclose(maps);
  if (end == NULL || end == text) {
    errno = EINVAL;
    return -1;
  }
  return 0;
}
#endif

/* Returns where the machine's buses have the memory; `memory` is its address in /dev/mem, and 0 of
 * a UIO device. Machines that add a base of their own need none. */
static int find_memory_bus(const char* file, int is_uio, off_t memory, uint64_t* address) {
  *address = (uint64_t)memory;
#ifdef KILN_MEMORY_BUS
  *address = KILN_MEMORY_BUS;
#elif defined(KILN_BUS_WORDS)
  if (is_uio) return read_map_address(file, address);
#endif
  (void)file;
  (void)is_uio;
  return 0;
}

int kiln_open(kiln_device* device, const char* where, uint64_t memory_bytes) {
  off_t registers = 0, memory = 0;
  int is_uio = 0;
  const char* file = where != NULL ? where : "/dev/uio0";
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (where != NULL && is_pair(where, &registers, &memory)) {
    file = "/dev/mem";
  } else {
    is_uio = 1;
    memory = (off_t)page; /* map N of a UIO device begins at page N */
  }
  memset(device, 0, sizeof *device);
  if (find_memory_bus(file, is_uio, is_uio ? 0 : memory, &device->memory_bus) != 0) return -1;
  device->memory_bytes = (memory_bytes + page - 1) / page * page;
  device->descriptors[0] = open(file, O_RDWR | O_SYNC);
  if (device->descriptors[0] < 0) return -1;
  device->registers = map_bytes(device->descriptors[0], KILN_REGISTER_BYTES, registers);
  device->memory = map_bytes(device->descriptors[0], device->memory_bytes, memory);
  if (device->registers != NULL && device->memory != NULL) return 0;
  memory_bytes = (uint64_t)errno;
  kiln_close(device);
  errno = (int)memory_bytes;
  return -1;
}

void kiln_close(kiln_device* device) {
  if (device->registers != NULL) munmap((void*)device->registers, KILN_REGISTER_BYTES);
  if (device->memory != NULL) munmap((void*)device->memory, (size_t)device->memory_bytes);
  close(device->descriptors[0]);
}

void kiln_pause(kiln_device* device) {
  const struct timespec pause = {0, PAUSE_NANOSECONDS};
  (void)device;
  nanosleep(&pause, NULL);
}
