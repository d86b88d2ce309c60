// The functional level: what a stream of commands computes, fast and to the bit. It follows
// messages from the configuration alone and executes instructions for many threads at a time.
#ifndef KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
#define KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/isa/instruction.h"
#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {

// A machine: what its memories hold, from stream to stream. All are 0 at first.
class FunctionalMachine {
 public:
  // The design point must pass CheckStreamMachine.
  explicit FunctionalMachine(const Config& config);

  // Executes the commands of a stream and returns the stream out. Errors, each with the number of
  // the beat: the stream ends within a command or is no whole number of beats; a write outside of
  // memories; a run of a configuration that docs/cgra-machine.md refuses.
  StatusOr<std::vector<uint8_t>> Run(std::span<const uint8_t> stream);

 private:
  friend class FunctionalRun;
  struct Tile {
    std::vector<uint32_t> spokes;
    std::vector<InstructionWord> instructions;
    std::array<std::vector<int32_t>, 2> memory;  // by address, lanes
  };
  Config config_;
  std::vector<Tile> tiles_;
  std::vector<uint32_t> deliveries_;
};

// Loads a program into a machine of its own and runs threads on it: returns the lanes of every
// output of every thread, in this order. `data` has for every thread the lanes of every input.
StatusOr<std::vector<int32_t>> ExecuteFunctional(const CgraProgram& program, int64_t threads,
                                                 std::span<const int32_t> data);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
