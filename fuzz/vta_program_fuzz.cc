// Fuzz target: runs any bytes as a VTA program in a small memory. The program must finish or fault
// alike in every order of the stages and at the cycle level; every instruction must disassemble to
// text that assembles to it; and the linter must find nothing without the memory that it does not
// find with it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/vta/lint/lint.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "kiln/targets/vta/simulate/functional/functional.h"

namespace {

using namespace kiln::vta;  // NOLINT: a program of one file

constexpr uint64_t kBase = DeviceMemory::kPageBytes;
constexpr size_t kMemory = 4 * DeviceMemory::kPageBytes;
constexpr uint64_t kMostSteps = 1 << 14;  // per launch, so that a case stays short

// Returns a machine with small buffers, so that random indices are often out of range.
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

// Checks that linting the instructions alone finds a subset of what linting with memory finds.
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
    // Large loop counts mostly end at the step limit, so every other instruction is kept below it.
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
  // In a program with races, even the micro-ops may depend on the order.
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
  // An instruction may have an index out of range and also wait for ever: the cycle level reports
  // the range fault because it checks before it waits.
  const bool two_faults = first == static_cast<int>(FaultKind::kDeadlock) &&
                          timed == static_cast<int>(FaultKind::kSramRange);
  KILN_CHECK(timed == first || two_faults);
  return 0;
}
