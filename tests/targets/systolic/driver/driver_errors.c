/* What the driver returns when a program fails, does not end, is stopped, or runs already. Prints
 * the first check that fails. */
#include <stdio.h>
#include <string.h>

#include "kiln_driver.h"

#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      printf("line %d: %s\n", __LINE__, #condition); \
      return 1;                                      \
    }                                                \
  } while (0)

int main(int count, char** values) {
  kiln_device device;
  kiln_program program;
  uint64_t value = 0;
  unsigned char words[4096];
  CHECK(count == 2 && kiln_open(&device, values[1], 1u << 16) == 0);
  CHECK(kiln_probe(&device) == KILN_OK);

  /* A program at an address that is not a multiple of 16. */
  memset(&program, 0, sizeof program);
  program.words[KILN_WORD_PROGRAM_ADDRESS] = 8;
  CHECK(kiln_run(&device, &program, 100) == KILN_FAILED);
  CHECK(kiln_error(&device) == 5);
  CHECK(strncmp(kiln_error_text(5), "address: ", 9) == 0);
  CHECK(strcmp(kiln_error_text(99), "unknown error") == 0);

  /* Words that are no instruction. */
  memset(words, 0xff, sizeof words);
  kiln_memory_write(&device, 4096, words, sizeof words);
  program.words[KILN_WORD_PROGRAM_ADDRESS] = 4096;
  CHECK(kiln_run(&device, &program, 100) == KILN_FAILED);
  CHECK(kiln_error(&device) != 0);
  CHECK(kiln_error_place(&device) == 0); /* the first word of the first instruction */

  /* No look at the status after the start: it is still running. */
  CHECK(kiln_start(&device, &program) == KILN_OK);
  CHECK(kiln_wait(&device, 0) == KILN_TIMEOUT);
  CHECK(kiln_start(&device, &program) == KILN_BUSY);
  CHECK(kiln_stop(&device, 100) == KILN_OK);
  CHECK(kiln_error(&device) != 0);

  CHECK(kiln_counter(&device, "array.busy", &value) == KILN_OK);
  CHECK(kiln_counter(&device, "array.bus", &value) == KILN_NO_COUNTER);
  CHECK(kiln_counter_name(0) != NULL && strcmp(kiln_counter_name(0), "input_fetch.busy") == 0);
  CHECK(kiln_counter_name(KILN_COUNTER_COUNT) == NULL);
  kiln_close(&device);
  return 0;
}
