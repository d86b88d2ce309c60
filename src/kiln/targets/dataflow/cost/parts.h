// The units of the hardware of compiled networks: their modules and memories, as the emitter
// instantiates them.
#ifndef KILN_TARGETS_DATAFLOW_COST_PARTS_H_
#define KILN_TARGETS_DATAFLOW_COST_PARTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/interface/unit_areas.h"

namespace kiln::dataflow {

// Sizes of a stage that its modules and its events have in common. All are 0 where the stage has no
// such part.
struct StageSizes {
  // convolution, depthwise
  int64_t products = 0;     // of a step
  int64_t outputs = 0;      // sums of a step
  int64_t terms = 0;        // of a sum in a step
  int64_t tree_bits = 0;    // of the sum of these terms
  int64_t weight_bits = 0;  // of the weights of a step
  int64_t weight_words = 0;
  bool streams_weights = false;
  // convolution, depthwise, global_sum
  int64_t sum_bits = 0;        // of an accumulated sum
  int64_t addend_bits = 0;     // of a constant of requantisation
  int64_t constant_words = 0;  // each for the lanes of a result word
  // convolution, depthwise, max_pool
  int64_t row_bits = 0;     // of one row memory; there are window.buffer_rows()
  int64_t window_bits = 0;  // elements of a step
  int64_t stored_bits = 0;  // of the columns or the word that are kept for each word of a pixel
  int64_t stored_words = 0;
  bool deep_columns = false;  // stored in a memory, not in registers
};
// Returns the sizes of a stage between its channels.
StageSizes SizesOf(const Pipeline& pipeline, const Stage& stage);

// Returns whether the words of a channel are held in a memory, not in registers.
bool InMemory(const Channel& channel);

// Returns a unit for each stage that computes, and units of the streams, of the stages that only
// connect, of the channels, and of the control registers. Stages of the same name in several
// pipelines are one unit.
//   ultrascale   the device, as in MultiplierBitsOf (isa/derived.h)
std::vector<UnitParts> UnitsOf(std::span<const Pipeline* const> pipelines, bool ultrascale);

// The names of the units that several stages share.
inline constexpr const char* kStreamUnit = "streams";
inline constexpr const char* kConnectionUnit = "forks and converters";
inline constexpr const char* kChannelUnit = "channels";
inline constexpr const char* kControlUnit = "control";
inline constexpr const char* kOuterMemoryUnit = "outer memory";

// Returns the unit that a stage belongs to.
std::string UnitNameOf(const Stage& stage);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COST_PARTS_H_
