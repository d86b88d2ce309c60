/* Prints the addresses of a simulated machine that answer a read without an error. */
#include "kiln_platform_simulation.c"

int main(int count, char** values) {
  kiln_device device;
  uint64_t address;
  if (count < 2 || kiln_open(&device, values[1], 4096) != 0) return 2;
  for (address = 0; address < 4096; address += 4) {
    uint64_t answer[2];
    request(&device, READ_REGISTER, &address, 1, NULL, 0, answer, sizeof answer);
    if (answer[1] == 0) printf("0x%03x\n", (unsigned)address);
  }
  kiln_close(&device);
  return 0;
}
