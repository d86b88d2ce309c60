// Blocks of layers: which run together on the stages, what is sent to the machine for each pixel,
// and where its results belong.
#ifndef KILN_TARGETS_BINARY_COMPILE_BLOCK_H_
#define KILN_TARGETS_BINARY_COMPILE_BLOCK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/binary/compile/layer.h"
#include "kiln/targets/binary/isa/program.h"
#include "kiln/targets/interface/program.h"

namespace kiln::binary {

// Codes of the record of each pixel (y, x) of a launch: channels of pixel (y + `y`, x + `x`) of a
// value, or `outside` where that has none.
struct RecordPart {
  const Value* value = nullptr;
  int64_t first_channel = 0, channels = 0;
  int first_code = 0;  // of the record
  int y = 0, x = 0;
  int32_t outside = 0;
  int32_t shift = 0;  // MachineCodes::shift
};
// Results of a stage: channels of a value, of its columns from `x` on.
struct ResultPart {
  int stage = 0;
  const Value* value = nullptr;
  int64_t first_channel = 0, channels = 0;
  int x = 0;
  int32_t shift = 0;  // MachineCodes::shift
};
// A program with its data.
struct Launch {
  BlockProgram program;
  std::vector<RecordPart> records;
  std::vector<ResultPart> results;
};

// The sum of a layer's result with another value, or with channels of one.
struct LayerSum {
  const Value* added = nullptr;
  const Value* sum = nullptr;
  int64_t first_channel = 0;  // of both
  MachineCodes added_codes, sum_codes;
  SkipSum numbers;  // without first_code
};

// A layer of a block.
struct BlockLayer {
  Layer layer;
  std::vector<const Node*> nodes;
  std::optional<LayerSum> sum;
  // Where the result goes that leaves the machine; null: nowhere. Channels from first_channel on.
  const Value* leaves_as = nullptr;
  int64_t first_channel = 0;
};

// Returns the launches of a block: one for layers in flight together, or one for
// each part of a single layer.
//   errors  refusals: the block does not fit the machine
StatusOr<std::vector<Launch>> LaunchesOf(std::span<const BlockLayer> layers, const Config& config);

// Returns the cycles of launches when no test decides anything: loading, and the longer of the
// stream of pixels and of the rounds of the slowest stage.
int64_t EstimateCycles(std::span<const Launch> launches);

// Returns what reports say about the block.
KernelInfo InfoOf(std::span<const BlockLayer> layers, std::span<const Launch> launches,
                  const Config& config);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COMPILE_BLOCK_H_
