// Fuzz target: decodes any bytes as instructions of the systolic machine. Accepted bytes must
// encode back to themselves, and each instruction must pass the checks and print.
#include <cstdint>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/systolic/isa/isa.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> bytes(data, data + size);
  const kiln::systolic::Config config;
  const auto instructions = kiln::systolic::Decode(bytes, config);
  if (!instructions.ok()) return 0;
  KILN_CHECK(kiln::systolic::Encode(*instructions, config) == bytes);
  for (const kiln::systolic::Instruction& instruction : *instructions) {
    KILN_CHECK(kiln::systolic::CheckInstruction(instruction, config).ok());
    kiln::systolic::Print(instruction, config);
  }
  return 0;
}
