/* How the driver reaches the machine: its registers, and the memory that the machine reads and
 * writes. C99. Three implementations come with it, of which a program links one:
 *
 *   kiln_platform_bare.c        pointers, for programs without an operating system
 *   kiln_platform_linux.c       mmap of /dev/uioN or of /dev/mem
 *   kiln_platform_simulation.c  the simulation of this folder, build/simulate, as a process
 *
 * For another system, write these functions; nothing else in the driver depends on it. */
#ifndef KILN_PLATFORM_H
#define KILN_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

typedef struct kiln_device {
  volatile unsigned char* registers; /* of the machine's AXI4-Lite port; bare metal and Linux */
  volatile unsigned char* memory;    /* of the machine, from its address 0 on */
  uint64_t memory_bus;               /* where that address is on the machine's buses */
  uint64_t memory_bytes;
  int descriptors[3]; /* of the platform */
} kiln_device;

/* Opens the machine `where`; the platform's file says what names it, and NULL is its default.
 * Memory is at the machine's addresses [0, memory_bytes). Sets device->memory_bus: the driver adds
 * it to the addresses that registers hold, if the machine takes addresses of its buses
 * (KILN_BUS_WORDS in kiln_registers.h). Define KILN_MEMORY_BUS where the platform's default is
 * wrong. Returns 0, or -1 with errno set where there is one. */
int kiln_open(kiln_device* device, const char* where, uint64_t memory_bytes);
void kiln_close(kiln_device* device);

/* Read and write a register; `address` is one of kiln_registers.h. Writes are done in order. */
uint32_t kiln_read32(kiln_device* device, uint32_t address);
void kiln_write32(kiln_device* device, uint32_t address, uint32_t value);

/* Copy bytes to and from the machine's memory. After a write the machine sees the bytes, and a read
 * returns what the machine has written, whatever caches there are. */
void kiln_memory_write(kiln_device* device, uint64_t address, const void* bytes, size_t size);
void kiln_memory_read(kiln_device* device, uint64_t address, void* bytes, size_t size);

/* Passes some time between two looks at the status register, less than a program takes. It may
 * wait for the interrupt instead. */
void kiln_pause(kiln_device* device);

#endif /* KILN_PLATFORM_H */
