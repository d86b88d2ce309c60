// Any bytes as a VTA program in a small memory: it runs to its end or is stopped, the same in every order of the
// stages and at the cycle level, every word has a text that gives it back, and the linter says nothing of the program
// without its memory that it does not say with it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/vta/cycle.h"
#include "kiln/targets/vta/functional.h"
#include "kiln/targets/vta/lint.h"

namespace {

using namespace kiln::vta;  // NOLINT: a program of one file

constexpr uint64_t kBase = DeviceMemory::kPageBytes;
constexpr size_t kMemory = 4 * DeviceMemory::kPageBytes;
constexpr uint64_t kMostSteps = 1 << 14;  // of a launch, lest a case take long

Config SmallConfig() {
  Config config;
  config.name = "fuzz";
  config.block_in = config.block_out = 4;
  config.uop_buffer_bytes = 256;
  config.input_buffer_bytes = 256;
  config.weight_buffer_bytes = 1024;
  config.accumulator_buffer_bytes = 1024;
  return config;
}

void CheckLint(const LintResult& with_memory, const LintResult& alone) {
  if (!with_memory.judged) return;
  KILN_CHECK(alone.judged && (alone.hazard_free || !with_memory.hazard_free));
  for (const Finding& finding : alone.findings) {
    KILN_CHECK(std::ranges::any_of(with_memory.findings, [&](const Finding& other) {
      return other.kind == finding.kind && other.instruction == finding.instruction;
    }));
  }
  KILN_CHECK(std::ranges::includes(with_memory.hls, alone.hls));
  KILN_CHECK(std::ranges::includes(with_memory.chisel, alone.chisel));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Config config = SmallConfig();
  static const Encoding encoding(config);
  const size_t count = std::min<size_t>(size / kInstructionBytes, 64);
  ProgramVector vector;
  vector.config = config;
  vector.base = kBase;
  vector.before.resize(kMemory);
  for (size_t i = 0; i < kMemory; ++i) vector.before[i] = static_cast<uint8_t>(i * 37 + i / 256);
  for (size_t i = 0; i < count; ++i) {
    const std::span<const uint8_t, kInstructionBytes> word(data + i * kInstructionBytes,
                                                           kInstructionBytes);
    const auto again = AssembleLine(Disassemble(word, encoding), encoding);
    KILN_CHECK(again.ok() && std::equal(word.begin(), word.end(), again->begin()));
    // Large counts of loops mostly end at the limit: every other word is brought within it.
    Instruction in = encoding.Decode(word);
    if (i % 2 == 0 && StepsOf(in) > kMostSteps / 64) in.outer = in.inner = 1;
    const Encoding::Bytes bytes = encoding.Encode(in);
    std::copy(bytes.begin(), bytes.end(),
              vector.before.begin() + static_cast<std::ptrdiff_t>(i * kInstructionBytes));
  }
  vector.launches.push_back({kBase, count});
  const auto fault_of = [&](uint64_t order) {
    DeviceMemory memory(vector.base, vector.before);
    FunctionalMachine machine(config);
    machine.set_most_steps(kMostSteps);
    const auto fault = machine.Launch(memory, kBase, count, StageOrder(order));
    return fault.has_value() ? static_cast<int>(fault->kind) : -1;
  };
  // Of programs with races even the micro-ops may depend on the order.
  const LintResult lint = Lint(vector, kMostSteps);
  CheckLint(lint, LintInstructions({vector.before.data(), count * kInstructionBytes}, config,
                                   kMostSteps));
  const bool races =
      std::any_of(lint.findings.begin(), lint.findings.end(),
                  [](const Finding& finding) { return finding.kind == FindingKind::kRace; });
  const int first = fault_of(0);
  const bool order_free = first < 0 || first == static_cast<int>(FaultKind::kNoFinish) ||
                          first == static_cast<int>(FaultKind::kDeadlock);
  if (races || !order_free) return 0;
  for (uint64_t order = 1; order < 8; ++order) KILN_CHECK(fault_of(order) == first);
  DeviceMemory memory(vector.base, vector.before);
  const auto fault = CycleMachine(config).Launch(memory, kBase, count).fault;
  const int timed = fault.has_value() ? static_cast<int>(fault->kind) : -1;
  // An instruction may have an index out of range and wait for ever: the machine sees the first before it waits.
  const bool two_faults = first == static_cast<int>(FaultKind::kDeadlock) &&
                          timed == static_cast<int>(FaultKind::kSramRange);
  KILN_CHECK(timed == first || two_faults);
  return 0;
}
