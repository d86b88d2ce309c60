/* The driver of an emitted machine; see kiln_driver.h. All that differs between machines is in
 * kiln_registers.h. */
#include "kiln_driver.h"

#include <stddef.h>

struct counter {
  const char* name;
  uint32_t address;
  unsigned words;
};

#define KILN_COUNTER(name, address, words) {name, address, words},
static const struct counter counters[] = {KILN_COUNTERS(KILN_COUNTER){NULL, 0, 0}};
#undef KILN_COUNTER

#define KILN_WORD(address) address,
static const uint32_t program_registers[] = {KILN_PROGRAM_REGISTERS(KILN_WORD)};
#undef KILN_WORD

#ifdef KILN_BUS_WORDS
#define KILN_WORD(number) number,
static const unsigned bus_words[] = {KILN_BUS_WORDS(KILN_WORD)};
#undef KILN_WORD
#endif

static int same_text(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

static int has_bits(kiln_device* device, uint32_t address, uint32_t mask, uint32_t value) {
  return (kiln_read32(device, address) & mask) == value;
}

/* Reads one or two words; the first read latches the second word. */
static uint64_t read_words(kiln_device* device, uint32_t address, unsigned words) {
  uint64_t value = kiln_read32(device, address);
  if (words == 2) value |= (uint64_t)kiln_read32(device, address + 4) << 32;
  return value;
}

int kiln_probe(kiln_device* device) {
  if (kiln_read32(device, KILN_REG_IDENTITY) != KILN_IDENTITY_VALUE) return KILN_NO_MACHINE;
#ifdef KILN_VERSION_VALUE
  if (kiln_read32(device, KILN_REG_VERSION) != KILN_VERSION_VALUE) return KILN_NO_MACHINE;
#endif
  return KILN_OK;
}

int kiln_start(kiln_device* device, const kiln_program* program) {
  kiln_program placed = *program;
  unsigned i;
  if (has_bits(device, KILN_BUSY_ADDRESS, KILN_BUSY_MASK, KILN_BUSY_VALUE)) return KILN_BUSY;
#ifdef KILN_BUS_WORDS
  for (i = 0; i < sizeof bus_words / sizeof *bus_words; ++i) {
    uint32_t* words = &placed.words[bus_words[i]];
    const uint64_t address = device->memory_bus + (words[0] | (uint64_t)words[1] << 32);
    words[0] = (uint32_t)address;
    words[1] = (uint32_t)(address >> 32);
  }
#endif
  for (i = 0; i < KILN_PROGRAM_WORDS; ++i)
    kiln_write32(device, program_registers[i], placed.words[i]);
  kiln_write32(device, KILN_START_ADDRESS, KILN_START_VALUE);
  return KILN_OK;
}

void kiln_write_address(kiln_device* device, uint32_t first_register, uint64_t address) {
  address += device->memory_bus;
  kiln_write32(device, first_register, (uint32_t)address);
  kiln_write32(device, first_register + 4, (uint32_t)(address >> 32));
}

int kiln_wait(kiln_device* device, uint32_t polls) {
  for (;;) {
    if (has_bits(device, KILN_ENDED_ADDRESS, KILN_ENDED_MASK, KILN_ENDED_VALUE))
      return kiln_error(device) == 0 ? KILN_OK : KILN_FAILED;
    if (polls == 0) return KILN_TIMEOUT;
    --polls;
    kiln_pause(device);
  }
}

int kiln_run(kiln_device* device, const kiln_program* program, uint32_t polls) {
  const int status = kiln_start(device, program);
  return status == KILN_OK ? kiln_wait(device, polls) : status;
}

int kiln_stop(kiln_device* device, uint32_t polls) {
#ifdef KILN_STOP_ADDRESS
  int status;
  kiln_write32(device, KILN_STOP_ADDRESS, KILN_STOP_VALUE);
  status = kiln_wait(device, polls);
  return status == KILN_TIMEOUT ? KILN_TIMEOUT : KILN_OK;
#else
  (void)device;
  (void)polls;
  return KILN_CANNOT_STOP;
#endif
}

uint32_t kiln_error(kiln_device* device) { return kiln_read32(device, KILN_ERROR_ADDRESS); }

uint32_t kiln_error_place(kiln_device* device) {
  return kiln_read32(device, KILN_ERROR_PLACE_ADDRESS);
}

uint64_t kiln_cycles(kiln_device* device) {
  return read_words(device, KILN_CYCLES_ADDRESS, KILN_CYCLES_WORDS);
}

int kiln_counter(kiln_device* device, const char* name, uint64_t* value) {
  unsigned i;
  for (i = 0; i < KILN_COUNTER_COUNT; ++i) {
    if (!same_text(counters[i].name, name)) continue;
    *value = read_words(device, counters[i].address, counters[i].words);
    return KILN_OK;
  }
  return KILN_NO_COUNTER;
}

const char* kiln_counter_name(unsigned index) {
  return index < KILN_COUNTER_COUNT ? counters[index].name : NULL;
}

const char* kiln_status_text(int status) {
  switch (status) {
    case KILN_OK:
      return "no error";
    case KILN_NO_MACHINE:
      return "the registers are not of this machine";
    case KILN_BUSY:
      return "a program is running";
    case KILN_TIMEOUT:
      return "the program has not ended in time";
    case KILN_FAILED:
      return "the program has ended with an error";
    case KILN_NO_COUNTER:
      return "there is no counter of this name";
    case KILN_CANNOT_STOP:
      return "the machine cannot be stopped";
    default:
      return "unknown status";
  }
}

const char* kiln_error_text(uint32_t error) {
  switch (error) {
    case 0:
      return "no error";
#define KILN_ERROR(number, name, text) \
  case number:                         \
    return name ": " text;
      KILN_ERRORS(KILN_ERROR)
#undef KILN_ERROR
    default:
      return "unknown error";
  }
}
