#include "tests/targets/systolic/random_program.h"

#include <utility>

#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

void Move(Stream& stream, uint64_t offset) {
  stream.base += offset;
  if (stream.blocks.present) stream.blocks.base += offset;
}

// Moves everything that an instruction touches by `offset` bytes.
void Move(Instruction& in, uint64_t offset) {
  Convolution& c = in.convolution;
  c.input_base += offset;
  c.weight_base += offset;
  c.parameters.base += offset;
  for (OperandScales* scales : {&c.input_scales, &c.weight_scales}) {
    if (scales->present) scales->base += offset;
  }
  for (Stream& operand : in.vector.operands) Move(operand, offset);
  Move(in.vector.output, offset);
}

}  // namespace

std::string RandomProgramCase::Text(const Config& config) const {
  std::string text;
  for (const Instruction& in : instructions) text += Print(in, config);
  return text;
}

std::vector<uint8_t> RandomProgramCase::Encoded(const Config& config) const {
  std::vector<Instruction> whole = instructions;
  whole.emplace_back();  // kEnd
  return Encode(whole, config);
}

RandomProgramCase RandomProgram(Random& random, const Config& config, int length) {
  RandomProgramCase program;
  while (static_cast<int>(program.instructions.size()) < length) {
    Opcode opcode{};
    do {
      opcode = static_cast<Opcode>(random.Between(1, 3));
    } while (opcode == Opcode::kDepthwise && config.depthwise_multipliers == 0);
    RandomCase c = RandomInstruction(random, config, opcode);
    const uint64_t scale_bytes = static_cast<uint64_t>(config.scale_format.bytes());
    const uint64_t offset =
        (program.memory.size() + random.Below(64) + scale_bytes - 1) / scale_bytes * scale_bytes;
    Move(c.instruction, offset);
    program.memory.resize(offset);
    program.memory.insert(program.memory.end(), c.memory.begin(), c.memory.end());
    c.instruction.wait_distance =
        static_cast<uint8_t>(random.Below(2) == 0 ? random.Between(1, 4) : 0);
    program.instructions.push_back(c.instruction);
    if (random.Below(4) == 0) program.instructions.push_back(std::move(c.instruction));
  }
  program.address = (program.memory.size() + 15) / 16 * 16;
  return program;
}

}  // namespace kiln::systolic
