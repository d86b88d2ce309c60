// Which sums a program's operands allow, and whether the integers of its design point hold them: integer psums and
// accumulations wrap (numerics/mac.h), and results are then wrong without a sign.
//
// Weights are known, inputs by the range of their codes. The bound is exact: for each end of a range there are input
// codes that reach it.
#ifndef KILN_TARGETS_SYSTOLIC_SUMS_H_
#define KILN_TARGETS_SYSTOLIC_SUMS_H_

#include <cstdint>
#include <string>

#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/lower.h"

namespace kiln::systolic {

struct SumRange {
  int64_t low = 0, high = 0;
  void Cover(const SumRange& other);
  int bits() const;  // of the narrowest two's complement that holds the range
};

// Over all outputs of a matrix or depthwise instruction.
struct Sums {
  int64_t products = 0;   // in the reduction of one output
  SumRange psum;          // of a row tile
  SumRange accumulation;  // of all row tiles
  SumRange result;        // less the inputs' zero point, as the channel's offset takes it out
};

// The work's tiling is found, and its sums are integers.
Sums SumsOf(const Work& work, const Config& config);

// Whether inputs exist whose sums leave the design point's integers and come back on the other side.
bool CanWrap(const Sums& sums, const Config& config);

// Looks over the works of a program.
class SumCheck {
 public:
  explicit SumCheck(const Config& config) : config_(config) {}  // which must outlive it
  // A matrix or depthwise work of a layer, its tiling found.
  void Add(const std::string& layer, const Work& work);
  // A line for the user where sums can wrap: in which layer the longest of them stand, and what would hold all of them.
  // Else empty.
  std::string Note() const;

 private:
  std::string Remedy() const;

  const Config& config_;
  Sums all_;              // of the works that have been looked at closely
  bool shifted_ = false;  // inputs have a zero point
  int layers_ = 0;        // whose sums can wrap
  std::string last_;      // of them
  std::string longest_;
  Sums longest_sums_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SUMS_H_
