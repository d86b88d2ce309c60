// What units ask of their memory ports, request by request in their order: where requests of several units meet on one
// bus (Config::shared_bus), sums of beats (timing.h) do not say when each has its turn. Instructions without block
// scales.
#ifndef KILN_TARGETS_SYSTOLIC_REQUESTS_H_
#define KILN_TARGETS_SYSTOLIC_REQUESTS_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/walk.h"

namespace kiln::systolic {

// Beats of one request after the other; 0 for one that takes a cycle of its port and none of the bus (padding).
using Requests = std::vector<int32_t>;

// An input fill: row groups [first, end) of a pixel tile (matrix), or what begins with column tile `first` (depthwise).
Requests InputFillRequests(const Instruction& instruction, const Config& config,
                           const Geometry& geometry, const Visit& visit, int32_t first,
                           int32_t end);
// One weight tile of batch `batch`; depthwise: the taps of one column tile.
Requests WeightTileRequests(const Instruction& instruction, const Config& config, int32_t batch,
                            int32_t row_tile, int32_t column_tile);
// The channel parameters of a block.
Requests ParameterRequests(const Instruction& instruction, const Config& config,
                           const Visit& visit);

// One stretch of a packed word (tap packing) that comes with one request: consecutive entries of the list (ky, kx, c)
// that are neighbours in memory.
struct PackedRun {
  int32_t tap_y = 0, tap_x = 0;  // of the first entry
  int32_t channel = 0;           // likewise
  int64_t entries = 0;
};
std::vector<PackedRun> PackedRuns(const Instruction& instruction, const Config& config,
                                  int32_t row_tile);

// A word of the vector unit.
struct VectorWord {
  int64_t search =
      0;  // cycles without a request before the first: in a window, until a place of it is in the image
  Requests operands;
  int64_t output = 0;  // beats
  bool to_memory = false;
  int64_t gap = 0;  // cycles behind it: PassGap
};

// The words of a vector instruction or of a drain, in their order.
class VectorWords {
 public:
  // Of the drain of a block.
  VectorWords(const Instruction& instruction, const Config& config, const Visit& visit);
  // Of a vector instruction.
  VectorWords(const Instruction& instruction, const Config& config);

  // The next word; false behind the last one.
  bool Next(VectorWord* word);

 private:
  void Fill(size_t pass, const OuterIndex& outer, int64_t element, int64_t elements,
            VectorWord* word) const;
  bool NextOfDrain(VectorWord* word);
  bool NextOfRows(VectorWord* word);

  const Instruction& instruction_;
  const VectorProgram& program_;
  const Config& config_;
  const Visit* visit_;  // null: a vector instruction
  int32_t tile_ = 0, y_ = 0, x_ = 0;
  int64_t rows_ = 0, together_ = 1;           // rows, and how many go through a pass together
  int64_t first_row_ = 0, row_ = 0, at_ = 0;  // of the group, of the word; its first element
  size_t pass_ = 0;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_REQUESTS_H_
