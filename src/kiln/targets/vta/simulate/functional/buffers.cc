// Converts elements between their bytes in memory and the numbers in the functional level's
// buffers.

#include "kiln/targets/vta/simulate/functional/buffers.h"

#include <algorithm>

#include "kiln/support/check.h"
#include "kiln/targets/vta/isa/elements.h"

namespace kiln::vta {

Buffers::Buffers(const Config& c)
    : config_(c),
      encoding_(c),
      pairs_(static_cast<size_t>(c.block_in + 1) / 2),
      input_numbers_(static_cast<size_t>(c.batch) * pairs_ * 2),
      weight_numbers_(static_cast<size_t>(c.block_out) * pairs_ * 2),
      accumulator_numbers_(static_cast<size_t>(c.batch) * static_cast<size_t>(c.block_out)),
      uops_(static_cast<size_t>(c.uops())),
      inputs_(static_cast<size_t>(c.inputs()) * input_numbers_),
      weights_(static_cast<size_t>(c.weights()) * weight_numbers_),
      accumulators_(static_cast<size_t>(c.accumulators()) * accumulator_numbers_) {}

void Buffers::Put(Memory memory, size_t element, const uint8_t* bytes) {
  switch (memory) {
    case Memory::kUop:
      uops_[element] =
          encoding_.DecodeUop(bytes == nullptr ? 0 : static_cast<uint32_t>(NumberAt(bytes, 0, 32)));
      return;
    case Memory::kInput:
      PutInput(inputs_.data() + element * input_numbers_, bytes);
      return;
    case Memory::kWeight:
      PutWeight(weights_.data() + element * weight_numbers_, bytes);
      return;
    case Memory::kAccumulator:
    case Memory::kAccumulator8: {
      int32_t* numbers = accumulator(element);
      const int bits = memory == Memory::kAccumulator ? config_.accumulator_bits : 8;
      for (size_t i = 0; i < accumulator_numbers_; ++i)
        numbers[i] = bytes == nullptr ? 0 : NumberAt(bytes, i, bits);
      return;
    }
    case Memory::kOutput:
      break;
  }
  KILN_CHECK(false);
}

void Buffers::PutInput(int16_t* numbers, const uint8_t* bytes) const {
  const auto rows = static_cast<size_t>(config_.batch),
             columns = static_cast<size_t>(config_.block_in);
  if (bytes == nullptr) {
    std::fill_n(numbers, input_numbers_, int16_t{0});
  } else if (config_.input_bits == 8 && columns % 2 == 0) {
    for (size_t i = 0; i < input_numbers_; ++i) numbers[i] = static_cast<int8_t>(bytes[i]);
  } else {
    for (size_t i = 0; i < rows * columns; ++i) {
      numbers[i / columns * pairs_ * 2 + i % columns] =
          static_cast<int16_t>(NumberAt(bytes, i, config_.input_bits));
    }
  }
}

void Buffers::PutWeight(int16_t* numbers, const uint8_t* bytes) const {
  if (bytes == nullptr) {
    std::fill_n(numbers, weight_numbers_, int16_t{0});
    return;
  }
  const auto rows = static_cast<size_t>(config_.block_out),
             columns = static_cast<size_t>(config_.block_in);
  for (size_t o = 0; o < rows; ++o) {
    for (size_t k = 0; k < columns; ++k) {
      const size_t at = o * columns + k;
      const int32_t number = config_.weight_bits == 8 ? static_cast<int8_t>(bytes[at])
                                                      : NumberAt(bytes, at, config_.weight_bits);
      numbers[(k / 2 * rows + o) * 2 + k % 2] = static_cast<int16_t>(number);
    }
  }
}

void Buffers::Get(size_t element, uint8_t* bytes) const {
  const int32_t* numbers = accumulators_.data() + element * accumulator_numbers_;
  for (size_t i = 0; i < accumulator_numbers_; ++i)
    PutNumber(bytes, i, config_.input_bits, numbers[i]);
}

GemmBuffers Buffers::ForGemm() {
  return {.batch = config_.batch,
          .pairs = static_cast<int>(pairs_),
          .block_out = config_.block_out,
          .inputs = inputs_.data(),
          .weights = weights_.data(),
          .accumulators = accumulators_.data()};
}

void Buffers::WrapAccumulator(size_t element) {
  int32_t* numbers = accumulator(element);
  for (size_t i = 0; i < accumulator_numbers_; ++i)
    numbers[i] = Wrap(numbers[i], config_.accumulator_bits);
}

}  // namespace kiln::vta
