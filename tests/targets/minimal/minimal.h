// The smallest family: sums and products of int8 tensors on a vector unit with one input and one
// output stream (kiln_minimal.sv). docs/adding-a-family.md explains it step by step.
#ifndef KILN_TESTS_TARGETS_MINIMAL_MINIMAL_H_
#define KILN_TESTS_TARGETS_MINIMAL_MINIMAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/hardware/key_table.h"
#include "kiln/ir/graph.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/family.h"
#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/stream_simulation.h"

namespace kiln::minimal {

struct Config {
  std::string name;
  int lanes = 4;                              // elements of a beat
  int in_bytes() const { return 2 * lanes; }  // of a beat: codes a, codes b
  int64_t BeatsOf(int64_t elements) const { return (elements + lanes - 1) / lanes; }
};
const hardware::KeyTable<Config>& Keys();

// The numbers of one kernel, as the two header beats carry them (kiln_minimal.sv).
struct Instruction {
  bool multiply = false;
  int16_t ma = 0, mb = 0;
  int32_t c = 0;
  int shift = 0;
  int8_t za = 0, zb = 0;
};

// A kernel on the machine: its numbers, and the values that it reads and writes.
struct Kernel {
  Instruction instruction;
  const Value *a = nullptr, *b = nullptr, *result = nullptr;
};

class MinimalProgram final : public Program {
 public:
  MinimalProgram(const Config& config, const Graph& network, std::vector<KernelInfo> infos);
  std::string Print() const override;

  const Config config;
  const Graph network;
  std::vector<Kernel> on_machine;               // by number of the kernel; unused for host kernels
  std::vector<std::optional<HostGraph>> hosts;  // by number of the kernel; the host's subgraphs
};

// Errors: a node for the host where options.host_fallback is false.
StatusOr<std::unique_ptr<Program>> CompileNetwork(const Config& config, const Graph& network,
                                                  const CompileOptions& options);

// Functional level: returns the codes of the result.
std::vector<int8_t> Compute(const Instruction& in, std::span<const int8_t> a,
                            std::span<const int8_t> b);
// Returns the beats of a kernel: two of header, then the operands.
std::vector<uint8_t> BeatsOf(const Config& config, const Instruction& in, std::span<const int8_t> a,
                             std::span<const int8_t> b);
// Cycle level: returns the beats that come out, and sets the cycles that they took.
std::vector<uint8_t> Simulate(const Config& config, std::span<const uint8_t> beats,
                              int64_t* cycles);

// Returns the hardware; `make sim` adds zeros to zeros.
StatusOr<hardware::RtlProject> ProjectOf(const MinimalProgram& program);
FamilyEntry Entry();

}  // namespace kiln::minimal

#endif  // KILN_TESTS_TARGETS_MINIMAL_MINIMAL_H_
