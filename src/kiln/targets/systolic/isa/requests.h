// The requests of the units to their memory ports, one by one in program order. On a shared bus
// (Config::shared_bus) and behind a simulated memory the sums of beats in timing.h are not enough:
// when a request is granted or answered depends on the requests of other units.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_REQUESTS_H_
#define KILN_TARGETS_SYSTOLIC_ISA_REQUESTS_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {

// The requests to the scale port that come with a request for codes: the first one in the same
// cycle, the others after it, one per cycle.
struct ScaleRequests {
  uint64_t address = 0;  // of the first scale
  int64_t stride = 0;    // in bytes, from one scale to the next
  int32_t count = 0;
  int32_t bytes = 0;  // of each scale; 0: a null request (padding, whose scale is 1)
};

// A request. Without bytes it has no beats and no meaningful address, and takes a cycle of its port
// but not of the bus (padding).
struct Request {
  uint64_t address = 0;
  int32_t bytes = 0, beats = 0;
  ScaleRequests scales{};  // none without block scales
};
// Consecutive requests.
using Requests = std::vector<Request>;

// Returns the requests of an input fill: row groups [first, end) of a pixel tile (matrix), or the
// fill that begins with column tile `first` (depthwise).
Requests InputFillRequests(const Instruction& instruction, const Config& config,
                           const Geometry& geometry, const Visit& visit, int32_t first,
                           int32_t end);
// Returns the requests of one weight tile of batch `batch`; depthwise: of the taps of one column
// tile. The scales of all its columns come with the first one.
Requests WeightTileRequests(const Instruction& instruction, const Config& config, int32_t batch,
                            int32_t row_tile, int32_t column_tile);
// Returns the requests of the channel parameters of a block.
Requests ParameterRequests(const Instruction& instruction, const Config& config,
                           const Visit& visit);

// The part of a packed word (tap packing) that one request fetches: consecutive entries of the list
// (ky, kx, c) that are adjacent in memory.
struct PackedRun {
  int32_t tap_y = 0, tap_x = 0;  // of the first entry
  int32_t channel = 0;           // of the first entry
  int64_t entries = 0;
};
// Returns the runs of the packed words of a row tile.
std::vector<PackedRun> PackedRuns(const Instruction& instruction, const Config& config,
                                  int32_t row_tile);

// The requests of a word of the vector unit.
struct VectorWord {
  int64_t search = 0;  // cycles before the first request: in a window, until a position inside the
                       // image is found
  Requests operands;
  int64_t output = 0;  // beats
  bool to_memory = false;
  uint64_t output_address = 0;  // of its first element, if it is written to memory
  // Block scales of the output: the word's own, and whether the word ends its scale block, whose
  // scales are written with its first word.
  ScaleRequests output_scales{};
  bool last_of_scale_block = false;
  int64_t elements = 0;
  int64_t gap = 0;  // cycles after the word: PassGap
};

// Enumerates the words of a vector instruction or of a drain, in order.
class VectorWords {
 public:
  // Enumerates the words of the drain of a block.
  VectorWords(const Instruction& instruction, const Config& config, const Visit& visit);
  // Enumerates the words of a vector instruction.
  VectorWords(const Instruction& instruction, const Config& config);

  // Sets `*word` to the next word. Returns false after the last one.
  bool Next(VectorWord* word);
  // Returns the requests that write a word to memory.
  Requests WritesOf(const VectorWord& word) const;
  // Returns the requests that write its block scales.
  static Requests ScaleWritesOf(const VectorWord& word);

 private:
  void Fill(size_t pass, const OuterIndex& outer, int64_t element, int64_t elements,
            VectorWord* word) const;
  bool NextOfDrain(VectorWord* word);
  bool NextOfRows(VectorWord* word);

  const Instruction& instruction_;
  const VectorProgram& program_;
  const Config& config_;
  const Visit* visit_;                  // null: a vector instruction
  const int32_t words_of_scale_block_;  // DrainColumns
  int32_t first_tile_ = 0;              // of the column tiles that leave together, pixel by pixel
  int32_t tile_ = 0, y_ = 0, x_ = 0;
  int64_t rows_ = 0, together_ = 1;           // rows, and how many go through a pass together
  int64_t first_row_ = 0, row_ = 0, at_ = 0;  // first row of the set; row and first element of the
                                              // word
  size_t pass_ = 0;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_REQUESTS_H_
