/* What the driver returns when a program fails. Prints the first check that fails. */
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
  unsigned char words[64];
  CHECK(count == 2 && kiln_open(&device, values[1], 1u << 16) == 0);
  CHECK(kiln_probe(&device) == KILN_OK);

  /* Instructions with an opcode that does not exist. */
  memset(words, 0xff, sizeof words);
  kiln_memory_write(&device, 4096, words, sizeof words);
  memset(&program, 0, sizeof program);
  program.words[KILN_WORD_PROGRAM_ADDRESS] = 4096;
  program.words[KILN_WORD_INSTRUCTIONS] = 4;
  CHECK(kiln_start(&device, &program) == KILN_OK);
  CHECK(kiln_wait(&device, 0) == KILN_TIMEOUT);
  CHECK(kiln_wait(&device, 1000) == KILN_FAILED);
  CHECK(kiln_error(&device) == 3);
  CHECK(strncmp(kiln_error_text(3), "bad_opcode: ", 12) == 0);
  CHECK(kiln_error_place(&device) == 0);
  CHECK(kiln_stop(&device, 1) == KILN_CANNOT_STOP);

  /* No instruction at all: the machine stands still, and ends the launch by itself. */
  program.words[KILN_WORD_INSTRUCTIONS] = 0;
  CHECK(kiln_run(&device, &program, 1000) == KILN_FAILED);
  CHECK(kiln_error(&device) == 8); /* no_finish */
  kiln_close(&device);
  return 0;
}
