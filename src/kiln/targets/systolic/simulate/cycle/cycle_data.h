// The bits that the units of the cycle level move and compute: memory, banks, array, accumulators,
// vector words. Nothing here models time.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_DATA_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_DATA_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/cycle/array_numbers.h"
#include "kiln/targets/systolic/simulate/cycle/array_pass.h"
#include "kiln/targets/systolic/simulate/cycle/exact_sums.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {

// The outer memory. It records the first access outside its bounds as a fault; such accesses read
// as 0.
class OuterMemory {
 public:
  explicit OuterMemory(std::span<uint8_t> bytes) : bytes_(bytes) {}
  // Return the `size` bytes at `address` for reading or writing, or null after recording a fault.
  const uint8_t* Read(uint64_t address, uint64_t size) {
    bytes_read += static_cast<int64_t>(size);
    return At(address, size, "read");
  }
  uint8_t* Write(uint64_t address, uint64_t size) {
    bytes_written += static_cast<int64_t>(size);
    return At(address, size, "write");
  }
  // Return bytes of a scale port. They are transferred beside others and are not counted
  // (docs/systolic.md, "Counters").
  const uint8_t* Peek(uint64_t address, uint64_t size) { return At(address, size, "read"); }
  uint8_t* Poke(uint64_t address, uint64_t size) { return At(address, size, "write"); }
  const std::string& fault() const { return fault_; }
  int64_t bytes_read = 0, bytes_written = 0;

 private:
  uint8_t* At(uint64_t address, uint64_t size, const char* what);
  std::span<uint8_t> bytes_;
  std::string fault_;
};

// One bank of input words. A word has array_rows codes for matrix instructions and array_columns
// codes for depthwise instructions, as the array counts them (ArrayNumbers): whole numbers in
// `words`, or values in `values`. `scales` has one entry per word, or is empty.
struct InputBank {
  std::vector<int16_t> words;
  std::vector<float> values;
  std::vector<float> scales;
};

// Weight tiles, each [array_rows][array_columns], or the taps of a depthwise column tile,
// [taps][array_columns].
struct WeightBank {
  std::vector<int16_t> words;
  std::vector<float> values;
  std::vector<float> scales;  // [tile][array_columns], or empty
};

// The weights in the array during a pass, or in the shadow registers.
struct StandingWeights {
  explicit StandingWeights(const Config& config) : whole(config.array_rows, config.array_columns) {}
  ArrayWeights whole;
  std::vector<float> values;  // [array_rows][array_columns]
  std::vector<float> scales;  // [array_columns], or empty
};

// The accumulators of one block, [column tile of the block][pixel][columns rounded up as in
// ArrayWeights]: integers, values, or quires.
struct AccumulationBank {
  std::vector<int32_t> sums;
  std::vector<float> values;
  ExactSums quires;
  // Returns the value that the vector unit receives for an accumulator that is not an integer.
  float Value(size_t at) const { return quires.empty() ? values[at] : quires.Rounded(at); }
};

// The channel parameters of one block, [column tile of the block][lane].
struct ParameterBank {
  std::vector<int32_t> offset;
  std::vector<float> scale, bias;
};

// Fetches row groups [first_group, end_group) of a visit (depthwise: the regions of these column
// tiles).
void FillInputs(const Instruction& instruction, const Config& config, const ArrayNumbers& numbers,
                const Geometry& geometry, const Visit& visit, int32_t first_group,
                int32_t end_group, OuterMemory& memory, InputBank& bank);

// Appends one weight tile to the bank.
void FetchWeightTile(const Instruction& instruction, const Config& config,
                     const ArrayNumbers& numbers, const Geometry& geometry, const Visit& visit,
                     int32_t row_tile, int32_t column_tile, OuterMemory& memory, WeightBank& bank);
// Fetches the taps of one column tile.
void FetchDepthwiseWeights(const Instruction& instruction, const Config& config,
                           const ArrayNumbers& numbers, const Visit& visit, OuterMemory& memory,
                           WeightBank& bank);
// Fetches the channel parameters of a visit's block.
void FetchParameters(const Instruction& instruction, const Config& config, const Visit& visit,
                     OuterMemory& memory, ParameterBank& bank);

// Loads tile `tile` of a bank into the shadow registers.
void LoadWeights(const Config& config, const ArrayNumbers& numbers, const WeightBank& bank,
                 int64_t tile, StandingWeights& weights);

// One pass: row tile `tap` of group `group` (number `group_in_fill` in its bank), for column tile
// `column` of the block.
struct PassOf {
  int32_t group = 0, group_in_fill = 0, tap = 0, column = 0;
  bool overwrite = false;  // whether this is the first pass of the block's column tile
};
// Adds the products of one pass to the block's accumulators.
void ArrayPass(const Instruction& instruction, const Config& config, const ArrayNumbers& numbers,
               const Geometry& geometry, const Visit& visit, const StandingWeights& weights,
               const InputBank& bank, const PassOf& pass, AccumulationBank& accumulators);
// Computes the accumulators of a depthwise block; with a user unit, its function of each window.
void DepthwiseStep(const Instruction& instruction, const Config& config,
                   const ArrayNumbers& numbers, const Geometry& geometry, const Visit& visit,
                   const WeightBank& weights, const InputBank& bank,
                   AccumulationBank& accumulators);

// Runs the vector program on a block of accumulators.
void DrainBlock(const Instruction& instruction, const Numbers& numbers, const Visit& visit,
                const AccumulationBank& accumulators, const ParameterBank& parameters,
                OuterMemory& memory);
// Runs a vector instruction: all rows, all passes.
void RunVectorRows(const Instruction& instruction, const Numbers& numbers, OuterMemory& memory);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_DATA_H_
