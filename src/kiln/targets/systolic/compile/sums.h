// Computes the sums that a program's operands allow, and whether the integers of its design point
// can hold them. Integer psums and accumulations wrap (numerics/mac.h), and results are then wrong
// without any indication.
//
// Weights are known, and inputs are known by the range of their codes. The bound is exact: for each
// end of a range there are input codes that reach it.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_SUMS_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_SUMS_H_

#include <cstdint>
#include <string>

#include "kiln/targets/systolic/compile/lower.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {

// A range of sums.
struct SumRange {
  int64_t low = 0, high = 0;
  void Cover(const SumRange& other);
  int bits() const;  // bits of the narrowest two's complement that holds the range
};

// The ranges of sums over all outputs of a matrix or depthwise instruction.
struct Sums {
  int64_t products = 0;   // in the reduction of one output
  SumRange psum;          // of a row tile
  SumRange accumulation;  // of all row tiles
  SumRange result;        // without the inputs' zero point, which the channel's offset removes
};

// Returns the sums of a work whose tiling has been chosen and whose sums are integers.
Sums SumsOf(const Work& work, const Config& config);

// Returns whether inputs exist whose sums wrap in the design point's integers.
bool CanWrap(const Sums& sums, const Config& config);

// Checks the works of a program.
class SumCheck {
 public:
  explicit SumCheck(const Config& config) : config_(config) {}  // `config` must outlive it
  // Adds a matrix or depthwise work of a layer; its tiling must have been chosen.
  void Add(const std::string& layer, const Work& work);
  // Returns a line for the user if sums can wrap: the layer with the longest of them, and formats
  // that would hold all sums. Otherwise returns "".
  std::string Note() const;

 private:
  std::string Remedy() const;

  const Config& config_;
  Sums all_;              // of the works that were examined exactly
  bool shifted_ = false;  // whether any inputs have a zero point
  int layers_ = 0;        // number of layers whose sums can wrap
  std::string last_;      // the last of those layers
  std::string longest_;
  Sums longest_sums_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_SUMS_H_
