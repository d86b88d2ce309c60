/* The program image of this folder and the sample of `make sim` (folder sample), as data in the
 * program: kiln_sample.c lists the steps, kiln_sample_data.S holds the bytes. C99. */
#ifndef KILN_SAMPLE_H
#define KILN_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "kiln_driver.h"

/* A step: writes bytes to the machine's memory, writes a register, writes the address of a byte of
 * the memory to a register of two words, runs a program, or compares bytes of the memory with those
 * that Kiln's functional level computes. */
typedef struct kiln_sample_step {
  enum {
    KILN_SAMPLE_WRITE,
    KILN_SAMPLE_SET,
    KILN_SAMPLE_PLACE,
    KILN_SAMPLE_RUN,
    KILN_SAMPLE_EXPECT
  } kind;
  const char* name;           /* of the tensor or of what is written */
  uint64_t address;           /* in the machine's memory, or of the register */
  const unsigned char* bytes; /* to write or to expect */
  size_t size;                /* in bytes; of a register, the value or the address to write */
  kiln_program program;       /* to run */
} kiln_sample_step;

extern const kiln_sample_step kiln_sample_steps[];
extern const size_t kiln_sample_step_count;

/* Bytes of memory that the machine needs, from its address 0 on. */
extern const uint64_t kiln_memory_bytes;

#endif /* KILN_SAMPLE_H */
