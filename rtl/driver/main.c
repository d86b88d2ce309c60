/* An example of the driver: loads the program image and the sample's input, runs the program,
 * compares the output with the expected one, and prints the cycles and the counters of all runs.
 *
 *   main [WHERE]   WHERE is what kiln_open of the platform takes
 *
 * Ends in PASS and exit code 0, or in FAIL and 1 after the first difference or error. A folder
 * without a sample ends in DONE. */
#include <inttypes.h>
#include <stdio.h>

#include "kiln_driver.h"
#include "kiln_sample.h"

#define POLLS 100000000u

static uint64_t cycles, counters[KILN_COUNTER_COUNT];

/* Runs a program and adds its cycles and counters. Returns 0 if it ended without an error. */
static int run(kiln_device* device, const kiln_program* program) {
  const int status = kiln_run(device, program, POLLS);
  unsigned i;
  if (status != KILN_OK) {
    printf("%s\n", kiln_status_text(status));
    if (status == KILN_FAILED) {
      printf("error %" PRIu32 ", %s, at 0x%" PRIx32 "\n", kiln_error(device),
             kiln_error_text(kiln_error(device)), kiln_error_place(device));
    }
    return 1;
  }
  cycles += kiln_cycles(device);
  for (i = 0; i < KILN_COUNTER_COUNT; ++i) {
    uint64_t value = 0;
    if (kiln_counter(device, kiln_counter_name(i), &value) != KILN_OK) return 1;
    counters[i] += value;
  }
  return 0;
}

/* Compares a tensor with the memory. Returns 0 if all bytes are as expected. */
static int compare(kiln_device* device, const kiln_sample_step* step) {
  unsigned char found[256];
  size_t first, i;
  for (first = 0; first < step->size; first += sizeof found) {
    const size_t rest = step->size - first;
    const size_t size = rest < sizeof found ? rest : sizeof found;
    kiln_memory_read(device, step->address + first, found, size);
    for (i = 0; i < size; ++i) {
      if (found[i] == step->bytes[first + i]) continue;
      printf("difference in %s, address 0x%" PRIx64 ": expected 0x%02x, found 0x%02x\n", step->name,
             step->address + first + i, (unsigned)step->bytes[first + i], (unsigned)found[i]);
      return 1;
    }
  }
  return 0;
}

int main(int count, char** values) {
  kiln_device device;
  size_t i, compared = 0;
  int failed = 0;
  unsigned counter;
  if (kiln_open(&device, count > 1 ? values[1] : NULL, kiln_memory_bytes) != 0) {
    perror(count > 1 ? values[1] : "the machine");
    return 1;
  }
  if (kiln_probe(&device) != KILN_OK) {
    printf("%s\nFAIL\n", kiln_status_text(KILN_NO_MACHINE));
    kiln_close(&device);
    return 1;
  }
  for (i = 0; i < kiln_sample_step_count && !failed; ++i) {
    const kiln_sample_step* step = &kiln_sample_steps[i];
    switch (step->kind) {
      case KILN_SAMPLE_WRITE:
        kiln_memory_write(&device, step->address, step->bytes, step->size);
        break;
      case KILN_SAMPLE_SET:
        kiln_write32(&device, (uint32_t)step->address, (uint32_t)step->size);
        break;
      case KILN_SAMPLE_PLACE:
        kiln_write_address(&device, (uint32_t)step->address, step->size);
        break;
      case KILN_SAMPLE_RUN:
        failed = run(&device, &step->program);
        break;
      case KILN_SAMPLE_EXPECT:
        failed = compare(&device, step);
        compared += step->size;
        break;
    }
  }
  kiln_close(&device);
  if (failed) {
    printf("FAIL\n");
    return 1;
  }
  printf("cycles %" PRIu64 "\n", cycles);
  for (counter = 0; counter < KILN_COUNTER_COUNT; ++counter)
    printf("counter %s %" PRIu64 "\n", kiln_counter_name(counter), counters[counter]);
  if (compared == 0) {
    printf("DONE: this folder has no expected output\n");
    return 0;
  }
  printf("PASS: %lu bytes are as the functional level computes them\n", (unsigned long)compared);
  return 0;
}
