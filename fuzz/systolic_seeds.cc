// Seeds of the fuzz targets of the systolic family.
#include <filesystem>
#include <vector>

#include "fmt/format.h"
#include "fuzz/seeds.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr int kPrograms = 60;

// Writes random valid instructions of the systolic machine.
void WritePrograms(const fs::path& folder) {
  Random random(1);
  for (int i = 0; i < kPrograms; ++i) {
    const systolic::Config config;  // the design point of the fuzz target
    std::vector<systolic::Instruction> program;
    for (int count = i % 3; count >= 0; --count) {
      const auto opcode = static_cast<systolic::Opcode>(1 + random.Below(3));
      program.push_back(systolic::RandomInstruction(random, config, opcode).instruction);
    }
    program.emplace_back();  // kEnd
    const std::vector<uint8_t> bytes = systolic::Encode(program, config);
    WriteSeed(folder / fmt::format("systolic_decode_fuzz/{}.bin", i),
              {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

const SeedWriter kInstructions(&WritePrograms);

}  // namespace
}  // namespace kiln
