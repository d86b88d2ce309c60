// What the units of the cycle level do to the bits: memory, banks, array, accumulators, vector words. No time in here.
#ifndef KILN_TARGETS_SYSTOLIC_CYCLE_DATA_H_
#define KILN_TARGETS_SYSTOLIC_CYCLE_DATA_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/targets/systolic/array_pass.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/walk.h"

namespace kiln::systolic {

// The outer memory. An access outside it is remembered as a fault (the first one) and reads as 0.
class OuterMemory {
 public:
  explicit OuterMemory(std::span<uint8_t> bytes) : bytes_(bytes) {}
  // `size` bytes at `address` for reading / writing, or null after noting a fault.
  const uint8_t* Read(uint64_t address, uint64_t size) {
    bytes_read += static_cast<int64_t>(size);
    return At(address, size, "read");
  }
  uint8_t* Write(uint64_t address, uint64_t size) {
    bytes_written += static_cast<int64_t>(size);
    return At(address, size, "write");
  }
  const std::string& fault() const { return fault_; }
  int64_t bytes_read = 0, bytes_written = 0;

 private:
  uint8_t* At(uint64_t address, uint64_t size, const char* what);
  std::span<uint8_t> bytes_;
  std::string fault_;
};

// One bank of input words. With matrix instructions a word has array_rows codes, with depthwise ones array_columns.
struct InputBank {
  std::vector<int16_t> words;
};

// What the array and the vector unit need to know of one drained block.
struct AccumulationBank {
  std::vector<int32_t> values;  // [column tile of the block][pixel][columns rounded up as in ArrayWeights]
};

// Parameters of the channels of one block, [column tile of the block][lane].
struct ParameterBank {
  std::vector<int32_t> offset;
  std::vector<float> scale, bias;
};

// Fetches the row groups [first_group, end_group) of a visit (depthwise: the region of column tile first_group).
void FillInputs(const Instruction& instruction, const Config& config, const Geometry& geometry, const Visit& visit,
                int32_t first_group, int32_t end_group, OuterMemory& memory, InputBank& bank);

// Fetches one weight tile as codes [array_rows][array_columns].
void FetchWeightTile(const Instruction& instruction, const Config& config, const Geometry& geometry, const Visit& visit,
                     int32_t row_tile, int32_t column_tile, OuterMemory& memory, int8_t* codes);
// Fetches the taps of one column tile as codes [taps][array_columns].
void FetchDepthwiseWeights(const Instruction& instruction, const Config& config, const Visit& visit,
                           OuterMemory& memory, std::vector<int8_t>& codes);
void FetchParameters(const Instruction& instruction, const Config& config, const Visit& visit, OuterMemory& memory,
                     ParameterBank& bank);

// One pass: row tile `tap` of the group at `group_in_fill`, into column tile `column` of the block.
void ArrayPass(const Instruction& instruction, const Config& config, const Geometry& geometry, const Visit& visit,
               const ArrayWeights& weights, const InputBank& bank, int32_t group_in_fill, int32_t tap, int32_t column,
               bool overwrite, AccumulationBank& accumulators);
void DepthwiseStep(const Instruction& instruction, const Config& config, const Geometry& geometry, const Visit& visit,
                   const std::vector<int8_t>& weights, const InputBank& bank, AccumulationBank& accumulators);

// The vector program on a block of accumulators.
void DrainBlock(const Instruction& instruction, const Config& config, const Visit& visit,
                const AccumulationBank& accumulators, const ParameterBank& parameters, OuterMemory& memory);
// A vector instruction: all rows, all passes.
void RunVectorRows(const Instruction& instruction, const Config& config, OuterMemory& memory);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CYCLE_DATA_H_
