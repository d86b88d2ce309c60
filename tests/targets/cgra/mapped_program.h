// Random graphs that Kiln's mappers map, with all that their results are compared with: the
// checker has accepted the mapping, and the graph has been evaluated by itself.
#ifndef KILN_TESTS_TARGETS_CGRA_MAPPED_PROGRAM_H_
#define KILN_TESTS_TARGETS_CGRA_MAPPED_PROGRAM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"
#include "kiln/targets/cgra/isa/program.h"
#include "kiln/targets/cgra/simulate/rtl/machine.h"

namespace kiln::cgra {

struct MappedProgram {
  ComputationGraph graph;
  Mapping mapping;
  CgraProgram program;
  std::string_view mapper;
  int threads = 0;
  int64_t first_sent = 0;        // the first thread whose results are sent
  std::vector<uint8_t> stream;   // loads the program and runs the threads
  std::vector<uint8_t> results;  // the stream out as the evaluation of the graph says
  int64_t beats() const { return (threads - first_sent) * std::ssize(program.outputs); }
};

// Why seeds have no program, and how many do.
struct MappedCounts {
  int64_t no_problem = 0;  // the graph has no mapping problem
  int64_t not_mapped = 0;  // within the mapper's steps
  int64_t refused = 0;     // by BuildConfiguration: hardware lacks what the mapping needs
  // Programs by mapper, and programs that have a feature ("a value of an earlier thread").
  std::map<std::string, int64_t, std::less<>> mappers, features;
};

// Returns the program of a seed for a stream machine, or nothing if the seed has none. A seed's
// mapper is exact, annealing or greedy, with a number of steps, so that equal seeds give equal
// programs. Errors: the checker refuses the mapping of a mapper.
StatusOr<std::optional<MappedProgram>> MakeMappedProgram(const Config& config, uint64_t seed,
                                                         MappedCounts* counts);

// Runs a program at the functional and the cycle level and returns the cycles of the latter.
// Errors: a level gives other results than the evaluation, or other cycles than the closed form.
StatusOr<int64_t> CompareLevels(const MappedProgram& made);

// Runs a program on simulated hardware of its design point and returns the cycles. Errors: the
// hardware gives other results than the evaluation or, where `options` have no stalls, takes other
// cycles than `cycles`; behind a memory of the options, than the cycle level behind it.
StatusOr<int64_t> CompareHardware(const MappedProgram& made, const RtlMachine& machine,
                                  const RtlOptions& options, int64_t cycles);

// Maps the random graph of a seed, which has loads and stores, for the same tiles, and executes it
// on the simulator of flows, which alone runs such graphs. Returns whether there was a mapping.
// Errors: the checker refuses the mapping; the results or the stores are other ones than the
// evaluation's.
StatusOr<bool> CompareFlows(const Config& config, uint64_t seed);

}  // namespace kiln::cgra

#endif  // KILN_TESTS_TARGETS_CGRA_MAPPED_PROGRAM_H_
