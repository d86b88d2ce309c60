// Executes loads, stores, GEMM and ALU instructions on the cycle level's buffers, one instruction
// at a time.

#include "kiln/targets/vta/simulate/cycle/cycle_data.h"

#include <algorithm>

#include "kiln/support/check.h"
#include "kiln/targets/vta/isa/elements.h"
#include "kiln/targets/vta/simulate/alu.h"
#include "kiln/targets/vta/simulate/cycle/cycle_gemm.h"

namespace kiln::vta {
namespace {

size_t NumbersOf(int rows, int columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns);
}

template <typename Number>
void Unpack(const uint8_t* bytes, int bits, size_t count, Number* numbers) {
  if (bits == 8) {
    for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<int8_t>(bytes[i]);
    return;
  }
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<Number>(NumberAt(bytes, i, bits));
}

// Calls step(dst, src) with the indices of every step, in order.
template <typename Step>
void ForEachStep(const Instruction& in, std::span<const Uop> uops, const Step& step) {
  for (size_t outer = 0; outer < in.outer; ++outer) {
    for (size_t inner = 0; inner < in.inner; ++inner) {
      const size_t dst = outer * in.dst_outer + inner * in.dst_inner;
      const size_t src = outer * in.src_outer + inner * in.src_inner;
      for (const Uop& uop : uops) step(uop.dst + dst, uop.src + src);
    }
  }
}

}  // namespace

CycleData::CycleData(const Config& c)
    : config_(c),
      decoder_(c),
      input_numbers_(NumbersOf(c.batch, c.block_in)),
      weight_numbers_(NumbersOf(c.block_out, c.block_in)),
      accumulator_numbers_(NumbersOf(c.batch, c.block_out)),
      uops_(static_cast<size_t>(c.uops())),
      inputs_(static_cast<size_t>(c.inputs()) * input_numbers_),
      weights_(static_cast<size_t>(c.weights()) * weight_numbers_),
      accumulators_(static_cast<size_t>(c.accumulators()) * accumulator_numbers_) {}

CycleData::CycleData(const Config& c, const UopsInMemory& source)
    : config_(c),
      decoder_(c),
      source_(&source),
      input_numbers_(0),
      weight_numbers_(0),
      accumulator_numbers_(0),
      uops_(static_cast<size_t>(c.uops())) {}

bool CycleData::Reaches(const Instruction& in, const DeviceMemory& memory) const {
  if (source_ != nullptr) return true;
  const uint64_t bytes = BytesOfRow(in, config_);
  for (uint32_t y = 0; y < in.y_size; ++y) {
    if (memory.At(AddressOfRow(in, y, config_), bytes) == nullptr) return false;
  }
  return true;
}

void CycleData::LoadUops(const Instruction& in) {
  const uint64_t first = (AddressOfRow(in, 0, config_) - source_->address) / Config::kUopBytes;
  KILN_CHECK(in.y_size == 1 && ElementsMoved(in) == in.x_size &&
             first + in.x_size <= source_->uops.size());
  const auto from = source_->uops.begin() + static_cast<std::ptrdiff_t>(first);
  std::copy_n(from, in.x_size, uops_.begin() + static_cast<std::ptrdiff_t>(in.sram_base));
}

void CycleData::Load(const Instruction& in, const DeviceMemory& memory) {
  if (source_ != nullptr) {
    if (in.memory == Memory::kUop) LoadUops(in);
    return;
  }
  const size_t width = size_t{in.x_pad_before} + in.x_size + in.x_pad_after;
  size_t element = in.sram_base;
  PutZeros(in.memory, element, width * in.y_pad_before);
  element += width * in.y_pad_before;
  for (uint32_t y = 0; y < in.y_size; ++y, element += width) {
    PutZeros(in.memory, element, in.x_pad_before);
    const uint8_t* row = memory.At(AddressOfRow(in, y, config_), BytesOfRow(in, config_));
    PutRow(in.memory, element + in.x_pad_before, in.x_size, row);
    PutZeros(in.memory, element + in.x_pad_before + in.x_size, in.x_pad_after);
  }
  PutZeros(in.memory, element, width * in.y_pad_after);
}

void CycleData::PutRow(Memory memory, size_t element, size_t count, const uint8_t* bytes) {
  switch (memory) {
    case Memory::kUop:
      for (size_t i = 0; i < count; ++i) {
        uops_[element + i] = decoder_.DecodeUop(static_cast<uint32_t>(NumberAt(bytes, i, 32)));
      }
      return;
    case Memory::kWeight:
      return PutWeights(element, count, bytes);
    case Memory::kInput:
      return Unpack(bytes, config_.input_bits, count * input_numbers_,
                    &inputs_[element * input_numbers_]);
    case Memory::kAccumulator:
    case Memory::kAccumulator8:
      return Unpack(bytes, memory == Memory::kAccumulator ? config_.accumulator_bits : 8,
                    count * accumulator_numbers_, &accumulators_[element * accumulator_numbers_]);
    case Memory::kOutput:
      break;
  }
  KILN_CHECK(false);
}

void CycleData::PutWeights(size_t element, size_t count, const uint8_t* bytes) {
  const auto rows = static_cast<size_t>(config_.block_out),
             columns = static_cast<size_t>(config_.block_in);
  int16_t* numbers = &weights_[element * weight_numbers_];
  for (size_t i = 0; i < count; ++i, numbers += weight_numbers_) {
    const size_t first = i * weight_numbers_;  // exact, because elements are whole bytes
    for (size_t o = 0; o < rows; ++o) {
      for (size_t k = 0; k < columns; ++k) {
        const size_t at = first + o * columns + k;
        numbers[k * rows + o] = static_cast<int16_t>(
            config_.weight_bits == 8 ? static_cast<int8_t>(bytes[at])
                                     : NumberAt(bytes, at, config_.weight_bits));
      }
    }
  }
}

void CycleData::PutZeros(Memory memory, size_t element, size_t count) {
  const auto fill = [&](auto& numbers, size_t of_element) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(element * of_element);
    std::fill_n(first, count * of_element,
                typename std::remove_reference_t<decltype(numbers)>::value_type{});
  };
  if (memory == Memory::kUop) return fill(uops_, 1);
  if (memory == Memory::kInput) return fill(inputs_, input_numbers_);
  if (memory == Memory::kWeight) return fill(weights_, weight_numbers_);
  fill(accumulators_, accumulator_numbers_);
}

void CycleData::Store(const Instruction& in, DeviceMemory& memory) const {
  if (source_ != nullptr) return;
  const int bits = config_.input_bits;
  const int32_t* numbers = &accumulators_[in.sram_base * accumulator_numbers_];
  const size_t count = in.x_size * accumulator_numbers_;
  for (uint32_t y = 0; y < in.y_size; ++y, numbers += count) {
    uint8_t* row = memory.At(AddressOfRow(in, y, config_), BytesOfRow(in, config_));
    if (bits == 8) {
      for (size_t i = 0; i < count; ++i) row[i] = static_cast<uint8_t>(numbers[i]);
    } else {
      for (size_t i = 0; i < count; ++i) PutNumber(row, i, bits, numbers[i]);
    }
  }
}

void CycleData::Reset(const Instruction& in) {
  ForEachStep(in, UopsOf(in), [&](size_t dst, size_t) {
    std::fill_n(&accumulators_[dst * accumulator_numbers_], accumulator_numbers_, 0);
  });
}

template <AluOp kOp>
void CycleData::RunAlu(const Instruction& in) {
  const size_t numbers = accumulator_numbers_;
  const int bits = config_.accumulator_bits;
  ForEachStep(in, UopsOf(in), [&](size_t dst, size_t src) {
    int32_t* x = &accumulators_[dst * numbers];
    const int32_t* y = &accumulators_[src * numbers];
    if (in.use_immediate) {
      for (size_t k = 0; k < numbers; ++k) x[k] = Calculate(kOp, x[k], in.immediate);
    } else {
      for (size_t k = 0; k < numbers; ++k) x[k] = Calculate(kOp, x[k], y[k]);
    }
    if (bits == 32) return;
    for (size_t k = 0; k < numbers; ++k) x[k] = Wrap(x[k], bits);
  });
}

void CycleData::Compute(const Instruction& in) {
  if (source_ != nullptr) return;
  if (in.opcode == Opcode::kGemm) {
    if (in.reset) return Reset(in);
    return RunCycleGemm(in, UopsOf(in),
                        {.batch = static_cast<size_t>(config_.batch),
                         .block_in = static_cast<size_t>(config_.block_in),
                         .block_out = static_cast<size_t>(config_.block_out),
                         .accumulator_bits = config_.accumulator_bits,
                         .narrow = config_.input_bits + config_.weight_bits <= 16,
                         .inputs = inputs_.data(),
                         .weights = weights_.data(),
                         .accumulators = accumulators_.data()});
  }
  switch (in.alu) {
    case AluOp::kMin:
      return RunAlu<AluOp::kMin>(in);
    case AluOp::kMax:
      return RunAlu<AluOp::kMax>(in);
    case AluOp::kAdd:
      return RunAlu<AluOp::kAdd>(in);
    case AluOp::kShiftRight:
      return RunAlu<AluOp::kShiftRight>(in);
    case AluOp::kMultiply:
      return RunAlu<AluOp::kMultiply>(in);
  }
}

}  // namespace kiln::vta
