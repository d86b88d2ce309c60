// The tests that every accelerator family must pass, written once. A family joins with one file:
//
//   // tests/targets/conformance/FAMILY.cc
//   KILN_CONFORMANCE(FAMILY, {
//       .design_points = {"accelerators/FAMILY-int8-16.yaml"},
//       .never = {{"conv.depthwise*", "no depthwise unit"}},
//       .not_yet = {{"softmax.*", "the ALU has no exponential yet"}},
//   });
//
// For every design point and every case (cases.h) the suite checks:
//   levels       The functional and the cycle level give the same bits, with any number of threads.
//   accuracy     The values agree with the fp32 reference up to the case's quantisation error.
//   placement    Nothing runs on the host unless a row of `never` or `not_yet` names the case. If
//                one does, the host runs it, the reason is listed, and compiling without host
//                fallback fails with an error that names the node.
//   closed gaps  A case that a row of `not_yet` or `never` names must not run on the accelerator:
//                the test fails until the row is deleted.
// For random graphs it checks that the levels agree, wherever their kernels run. rtl_test.cc
// simulates the emitted hardware of the family's rtl_design_point: bits, cycles and the time of
// each kernel must equal the cycle level's, and the bits must not depend on stalls of the memory or
// on the contents of registers at power-up. random_test.cc does the same for the family's random
// programs on random design points.
#ifndef KILN_TESTS_TARGETS_CONFORMANCE_CONFORMANCE_H_
#define KILN_TESTS_TARGETS_CONFORMANCE_CONFORMANCE_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/interface/accelerator.h"

namespace kiln::conformance {

struct Exception {
  std::string cases;   // glob over case names: "conv.*"
  std::string reason;  // why
};

// A design point with the types in which its tests hold activations and weights (names for
// FindQuantType), and how many times the error of int8 they may cost. With an `other` type, of a
// machine of several precisions, every second product holds its operands in that one.
struct DesignPoint {
  DesignPoint(const char* yaml) : file(yaml) {}  // NOLINT(google-explicit-constructor): int8
  DesignPoint(std::string yaml, std::string activation_type, std::string weight_type,
              double allowance, std::vector<Exception> exceptions = {}, std::string other_type = "")
      : file(std::move(yaml)),
        activations(std::move(activation_type)),
        weights(std::move(weight_type)),
        tolerance(allowance),
        never(std::move(exceptions)),
        other(std::move(other_type)) {}
  bool is_int8() const { return activations == "int8" && weights == "int8"; }

  std::string file;  // relative to the repository
  std::string activations = "int8", weights = "int8";
  double tolerance = 1;
  std::vector<Exception> never = {};  // beside the family's
  std::string other = {};
};

// A run of a random program in hardware: the seed of the program and of the registers' contents at
// power-up, and the probability with which streams or the channels of memories stall.
struct RandomRun {
  uint64_t seed;
  double stalls;
};

// A family's random programs on random design points. Seeds determine both. The functions return
// what differs between the levels, with the design point and the program; nullopt if nothing does.
// A row has both functions, or neither while the family has no generator of programs.
struct RandomPrograms {
  // Compares the functional and the cycle level on the program of a seed.
  std::optional<std::string> (*levels)(uint64_t seed) = nullptr;
  // Builds the hardware of a design point and compares it with the other levels on the programs of
  // `runs`: bits and, without stalls, cycles. Hardware that is built for its network is that of the
  // programs, side by side, which all stall with the greatest probability of `runs`, too.
  std::optional<std::string> (*hardware)(uint64_t point, std::span<const RandomRun> runs) = nullptr;
};

struct Family {
  std::string name = {};
  std::vector<DesignPoint> design_points = {};
  std::vector<Exception> never = {};    // what the family can never do
  std::vector<Exception> not_yet = {};  // what it cannot do yet
  // The design point whose hardware rtl_test.cc simulates, int8: the smallest that runs the cases.
  std::string rtl_design_point = {};
  // Whether the hardware of rtl_design_point has a memory, whose latency and DRAM can be simulated.
  bool has_memory = true;
  // Of how many cases the hardware of one is simulated: more than 1 for families that build their
  // hardware for each network.
  size_t simulates_one_in = 1;
  // The outputs of networks are codes, too: for machines that write nothing else.
  bool quantises_outputs = false;
  RandomPrograms random = {};
};

// Returns a DRAM of random bandwidth, latency and row misses, without stalls.
RtlOptions DramOfSeed(uint64_t seed);

// The families that joined, in link order.
std::vector<Family>& Families();

// Returns the names of all families.
std::vector<std::string> NamesOfFamilies();

// Returns the first and the last design point of every family, as files.
std::vector<std::string> SomeDesignPoints();

struct Join {
  Join(std::string name, Family family) {
    family.name = std::move(name);
    Families().push_back(std::move(family));
  }
};

}  // namespace kiln::conformance

// The files stand in the test program itself, not in a library, so that no row is lost at link
// time.
#define KILN_CONFORMANCE(family, ...)                            \
  static const ::kiln::conformance::Join kJoin_##family(#family, \
                                                        ::kiln::conformance::Family __VA_ARGS__)

#endif  // KILN_TESTS_TARGETS_CONFORMANCE_CONFORMANCE_H_
