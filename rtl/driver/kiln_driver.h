/* The driver of an emitted machine: starts programs, waits for them, reads their errors and their
 * counters by name. C99, without an operating system or libraries. It reaches the machine by the
 * functions of kiln_platform.h, and knows it by kiln_registers.h.
 *
 *   kiln_device device;
 *   kiln_program program = {{0}};
 *   program.words[KILN_WORD_PROGRAM_ADDRESS] = ADDRESS;
 *   if (kiln_open(&device, NULL, MEMORY_BYTES) == 0 && kiln_probe(&device) == KILN_OK &&
 *       kiln_run(&device, &program, POLLS) == KILN_OK) ...
 *
 * One program runs at a time; the functions are not safe for several threads. */
#ifndef KILN_DRIVER_H
#define KILN_DRIVER_H

#include <stdint.h>

#include "kiln_platform.h"
#include "kiln_registers.h"

/* What the functions return. */
enum {
  KILN_OK = 0,
  KILN_NO_MACHINE = -1, /* the identity or the version of the registers is another */
  KILN_BUSY = -2,       /* a program is running */
  KILN_TIMEOUT = -3,    /* the program has not ended in time; it is still running */
  KILN_FAILED = -4,     /* the program has ended with an error: kiln_error, kiln_error_place */
  KILN_NO_COUNTER = -5, /* there is no counter of this name */
  KILN_CANNOT_STOP = -6 /* the machine has no way to stop a program */
};

/* Selects a program: the values of the registers KILN_PROGRAM_REGISTERS, which KILN_WORD_NAME
 * indexes. Addresses count from the beginning of the machine's memory, as those of
 * kiln_memory_write do. */
typedef struct kiln_program {
  uint32_t words[KILN_PROGRAM_WORDS];
} kiln_program;

/* Checks that this machine is at the registers: KILN_OK or KILN_NO_MACHINE. */
int kiln_probe(kiln_device* device);

/* Starts a program: KILN_OK or KILN_BUSY. Its memory must have been written before. Adds
 * device->memory_bus to the words that are addresses of the machine's buses (KILN_BUS_WORDS). */
int kiln_start(kiln_device* device, const kiln_program* program);

/* Writes an address of the machine's buses to a register of two words, the lower one first: the
 * address of byte `address` of the machine's memory. Registers of constants, for instance. */
void kiln_write_address(kiln_device* device, uint32_t first_register, uint64_t address);

/* Waits until the program has ended, for at most `polls` looks at the status with kiln_pause
 * between them: KILN_OK, KILN_FAILED or KILN_TIMEOUT. */
int kiln_wait(kiln_device* device, uint32_t polls);

/* Starts a program and waits for it: what these return. */
int kiln_run(kiln_device* device, const kiln_program* program, uint32_t polls);

/* Stops the running program, which then ends with an error, and waits for its end: KILN_OK,
 * KILN_TIMEOUT or KILN_CANNOT_STOP. */
int kiln_stop(kiln_device* device, uint32_t polls);

/* Return the error of the last program, 0 for none, and where it is in the program (the comment of
 * the register in kiln_registers.h says how). */
uint32_t kiln_error(kiln_device* device);
uint32_t kiln_error_place(kiln_device* device);

/* Returns the cycles of the last program. */
uint64_t kiln_cycles(kiln_device* device);

/* Reads a counter of the last program by its name: KILN_OK or KILN_NO_COUNTER. */
int kiln_counter(kiln_device* device, const char* name, uint64_t* value);

/* Returns the name of counter number `index`, or NULL from KILN_COUNTER_COUNT on. */
const char* kiln_counter_name(unsigned index);

/* Return texts for people: of what a function returned, and of an error of the machine. */
const char* kiln_status_text(int status);
const char* kiln_error_text(uint32_t error);

#endif /* KILN_DRIVER_H */
