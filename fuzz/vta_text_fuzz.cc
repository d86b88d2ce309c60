// Fuzz target: passes any text to the VTA assembler and to the reader of the original's
// configurations. Both must reject it with one line, or the program must survive a round trip
// through the disassembler.
#include <cstdint>
#include <string_view>

#include "kiln/support/check.h"
#include "kiln/targets/vta/isa/isa.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kiln::vta;  // NOLINT: a program of one file
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Encoding encoding(*ParseOriginalConfig("{}", "default"));
  if (const auto config = ParseOriginalConfig(text, "fuzz"); config.ok()) Encoding of_it(*config);
  const auto program = Assemble(text, "fuzz", encoding);
  if (!program.ok()) return 0;
  for (size_t at = 0; at < program->size(); at += kInstructionBytes) {
    const std::span<const uint8_t, kInstructionBytes> word(program->data() + at, kInstructionBytes);
    KILN_CHECK(AssembleLine(Disassemble(word, encoding), encoding).ok());
  }
  return 0;
}
