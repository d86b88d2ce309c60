/* The platform of a simulated machine. `where` is the simulation's program, by default
 * ../build/simulate. It runs as a process and takes every access over pipes
 * (testbench/kiln_simulate_session.h): a register access is a transfer on the Verilated machine's
 * AXI4-Lite port, and the memory is the model behind its AXI4 ports. The machine's clock runs
 * during register accesses and in kiln_pause. A register access with an error response ends the
 * program, as the bus error of a processor would. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kiln_platform.h"

#define PROTOCOL 0x314d49534e4c494bull /* "KILNSIM1" */
#define PAUSE_CYCLES 64u

/* The MEMORY_BASE with which the simulation was built. */
#ifndef KILN_MEMORY_BUS
#define KILN_MEMORY_BUS 0
#endif

enum { MAP = 1, WRITE = 2, READ = 4, READ_REGISTER = 8, WRITE_REGISTER = 9, IDLE = 10 };

static void fail(const char* what) {
  fprintf(stderr, "simulation: %s\n", what);
  exit(2);
}

static void send_bytes(kiln_device* device, const void* bytes, size_t size) {
  const unsigned char* at = (const unsigned char*)bytes;
  while (size > 0) {
    const ssize_t sent = write(device->descriptors[1], at, size);
    if (sent <= 0) fail("has ended");
    at += sent;
    size -= (size_t)sent;
  }
}

static void receive_bytes(kiln_device* device, void* bytes, size_t size) {
  unsigned char* at = (unsigned char*)bytes;
  while (size > 0) {
    const ssize_t received = read(device->descriptors[0], at, size);
    if (received <= 0) fail("has ended");
    at += received;
    size -= (size_t)received;
  }
}

/* Sends a request of two numbers and bytes, and receives an answer of exactly this size. */
static void request(kiln_device* device, uint64_t command, const uint64_t* numbers, size_t count,
                    const void* bytes, size_t size, void* answer, size_t answer_size) {
  uint64_t head[2];
  head[0] = command;
  head[1] = count * sizeof *numbers + size;
  send_bytes(device, head, sizeof head);
  send_bytes(device, numbers, count * sizeof *numbers);
  send_bytes(device, bytes, size);
  receive_bytes(device, head, sizeof head);
  if (head[0] != 0) {
    char reason[256];
    const size_t length = head[1] < sizeof reason ? (size_t)head[1] : sizeof reason - 1;
    receive_bytes(device, reason, length);
    reason[length] = '\0';
    fail(reason);
  }
  if (head[1] != answer_size) fail("an answer of another size");
  receive_bytes(device, answer, answer_size);
}

/* The simulation's program is FOLDER/build/NAME, and the machine's memories are filled from files
 * whose names are relative to FOLDER. Enters FOLDER and returns "build/NAME". */
static const char* enter_folder(const char* program) {
  char folder[4096];
  size_t end = strlen(program);
  int slashes = 0;
  while (end > 0 && slashes < 2) {
    --end;
    slashes += program[end] == '/' && program[end + 1] != '/';
  }
  if (slashes < 2) return program;
  if (end == 0) end = 1; /* the root's own name */
  if (end >= sizeof folder) return program;
  memcpy(folder, program, end);
  folder[end] = '\0';
  if (chdir(folder) != 0) return program;
  return program + end + (program[end] == '/');
}

int kiln_open(kiln_device* device, const char* where, uint64_t memory_bytes) {
  const char* program = where != NULL ? where : "../build/simulate";
  int to[2], from[2];
  pid_t child;
  uint64_t protocol = 0, range[2];
  memset(device, 0, sizeof *device);
  device->memory_bus = KILN_MEMORY_BUS;
  device->memory_bytes = memory_bytes;
  if (pipe(to) != 0 || pipe(from) != 0) return -1;
  child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    close(to[0]);
    close(to[1]);
    close(from[0]);
    close(from[1]);
    program = enter_folder(program);
    execl(program, program, "--serve", (char*)NULL);
    perror(program);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  signal(SIGPIPE, SIG_IGN);
  device->descriptors[0] = from[0];
  device->descriptors[1] = to[1];
  device->descriptors[2] = (int)child;
  receive_bytes(device, &protocol, sizeof protocol);
  if (protocol != PROTOCOL) fail("does not follow the protocol");
  range[0] = 0;
  range[1] = memory_bytes;
  request(device, MAP, range, 2, NULL, 0, NULL, 0);
  return 0;
}

void kiln_close(kiln_device* device) {
  close(device->descriptors[0]);
  close(device->descriptors[1]);
  waitpid((pid_t)device->descriptors[2], NULL, 0);
}

uint32_t kiln_read32(kiln_device* device, uint32_t address) {
  uint64_t number = address, answer[2];
  char text[64];
  request(device, READ_REGISTER, &number, 1, NULL, 0, answer, sizeof answer);
  if (answer[1] == 0) return (uint32_t)answer[0];
  sprintf(text, "bus error at the read of register 0x%03x", (unsigned)address);
  fail(text);
  return 0;
}

void kiln_write32(kiln_device* device, uint32_t address, uint32_t value) {
  uint64_t numbers[2], refused;
  char text[64];
  numbers[0] = address;
  numbers[1] = value;
  request(device, WRITE_REGISTER, numbers, 2, NULL, 0, &refused, sizeof refused);
  if (refused == 0) return;
  sprintf(text, "bus error at the write of register 0x%03x", (unsigned)address);
  fail(text);
}

void kiln_memory_write(kiln_device* device, uint64_t address, const void* bytes, size_t size) {
  request(device, WRITE, &address, 1, bytes, size, NULL, 0);
}

void kiln_memory_read(kiln_device* device, uint64_t address, void* bytes, size_t size) {
  uint64_t numbers[2];
  numbers[0] = address;
  numbers[1] = size;
  request(device, READ, numbers, 2, NULL, 0, bytes, size);
}

void kiln_pause(kiln_device* device) {
  const uint64_t cycles = PAUSE_CYCLES;
  request(device, IDLE, &cycles, 1, NULL, 0, NULL, 0);
}
