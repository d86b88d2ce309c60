// Instructions to bits and back. One list of fields serves both directions, so that they cannot drift apart.
#include <bit>
#include <cstring>
#include <type_traits>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {
namespace {

constexpr size_t kWord = 16;  // bytes
constexpr uint8_t kAfterPrevious = 1;
// Header byte 2: which streams have block scales.
constexpr int kInputBlocks = 1, kWeightBlocks = 2, kOperandBlocks = 4, kOutputBlocks = 32;

// Highest enumerator of each enumeration, for the decoder.
template <typename E>
constexpr int kLast = 0;
template <>
constexpr int kLast<Opcode> = static_cast<int>(Opcode::kVector);
template <>
constexpr int kLast<Element> = static_cast<int>(Element::kWeight);
template <>
constexpr int kLast<Combine> = static_cast<int>(Combine::kSum);
template <>
constexpr int kLast<Source> = static_cast<int>(Source::kConstant);
template <>
constexpr int kLast<Argument> = static_cast<int>(Argument::kSaved1);
template <>
constexpr int kLast<StageOp> = static_cast<int>(StageOp::kDivide);
template <>
constexpr int kLast<Function> = static_cast<int>(Function::kElu);
template <>
constexpr int kLast<Reduce> = static_cast<int>(Reduce::kMax);
template <>
constexpr int kLast<Packing> = static_cast<int>(Packing::kTaps);
template <>
constexpr int kLast<WeightLayout> = static_cast<int>(WeightLayout::kStrided);
template <>
constexpr int kLast<Order> = static_cast<int>(Order::kWeightOuter);

class Writer {
 public:
  explicit Writer(std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      Put(static_cast<uint8_t>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      Put(static_cast<uint8_t>(value ? 1 : 0));
    } else if constexpr (std::is_same_v<T, float>) {
      Put(std::bit_cast<uint32_t>(value));
    } else {
      Put(static_cast<std::make_unsigned_t<T>>(value));
    }
  }
  template <typename T>
  void List(std::vector<T>& list, int most) {
    KILN_CHECK(static_cast<int>(list.size()) <= most);
    Put(static_cast<uint8_t>(list.size()));
    for (T& item : list) Fields(*this, item);
  }

 private:
  template <typename T>
  void Put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  std::vector<uint8_t>& bytes_;
};

class Reader {
 public:
  Reader(const uint8_t* begin, const uint8_t* end) : at_(begin), end_(end) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      uint8_t code = 0;
      (*this)(code);
      if (code > kLast<T>) return Fail("unknown enumerator");
      value = static_cast<T>(code);
    } else if constexpr (std::is_same_v<T, bool>) {
      uint8_t code = 0;
      (*this)(code);
      if (code > 1) return Fail("a flag is neither 0 nor 1");
      value = code == 1;
    } else if constexpr (std::is_same_v<T, float>) {
      uint32_t bits = 0;
      (*this)(bits);
      value = std::bit_cast<float>(bits);
    } else {
      using U = std::make_unsigned_t<T>;
      if (static_cast<size_t>(end_ - at_) < sizeof(T)) return Fail("sections longer than the stated length");
      U bits = 0;
      for (size_t i = 0; i < sizeof(T); ++i) bits = static_cast<U>(bits | static_cast<U>(U{at_[i]} << (8 * i)));
      at_ += sizeof(T);
      value = static_cast<T>(bits);
    }
  }
  template <typename T>
  void List(std::vector<T>& list, int most) {
    uint8_t count = 0;
    (*this)(count);
    if (count > most) return Fail("a count is beyond its limit");
    list.resize(count);
    for (T& item : list) Fields(*this, item);
  }

  const uint8_t* at() const { return at_; }
  const char* fault() const { return fault_; }

 private:
  void Fail(const char* fault) {
    if (fault_ == nullptr) fault_ = fault;
    at_ = end_;
  }
  const uint8_t* at_;
  const uint8_t* end_;
  const char* fault_ = nullptr;
};

template <typename Archive>
void Fields(Archive& a, OperandScales& s) {
  a(s.base);
  a(s.batch_stride);
  a(s.row_stride);
  a(s.column_stride);
}

template <typename Archive>
void Fields(Archive& a, BlockScales& s) {
  a(s.base);
  for (int64_t& stride : s.outer_stride) a(stride);
  a(s.row_stride);
  a(s.column_stride);
}

template <typename Archive>
void Fields(Archive& a, Stream& s) {
  a(s.base);
  for (int64_t& stride : s.outer_stride) a(stride);
  a(s.element_stride);
  a(s.element);
  a(s.scale);
  a(s.zero_point);
}

template <typename Archive>
void Fields(Archive& a, Window& w) {
  a(w.combine);
  if (w.combine == Combine::kNone) return;
  for (int32_t* field : {&w.window_y, &w.window_x, &w.stride_y, &w.stride_x, &w.dilation_y, &w.dilation_x, &w.pad_top,
                         &w.pad_left, &w.height, &w.width}) {
    a(*field);
  }
  a(w.row_stride);
  a(w.column_stride);
  a(w.average);
  a(w.divide_by_valid);
}

template <typename Archive>
void Fields(Archive& a, Stage& s) {
  a(s.op);
  a(s.a);
  a(s.b);
  a(s.function);
  a(s.immediate_a);
  a(s.immediate_b);
}

template <typename Archive>
void Fields(Archive& a, Pass& p) {
  a(p.source);
  a(p.constant);
  a.List(p.stages, kMaxStages);
  a(p.reduce);
  a(p.into);
  a.List(p.scalar_stages, kMaxStages);
  a(p.to_row_buffer);
  a(p.to_memory);
}

template <typename Archive>
void Fields(Archive& a, VectorProgram& v) {
  for (int32_t& count : v.outer) a(count);
  a(v.length);
  a.List(v.operands, kMaxOperands);
  Fields(a, v.window);
  a.List(v.passes, kMaxPasses);
  Fields(a, v.output);
  a(v.quantise.inverse_scale);
  a(v.quantise.zero_point);
  a(v.quantise.low);
  a(v.quantise.high);
}

template <typename Archive>
void Fields(Archive& a, Convolution& c) {
  a(c.input_base);
  a(c.input_batch_stride);
  a(c.input_row_stride);
  a(c.input_column_stride);
  for (int32_t* field :
       {&c.height, &c.width, &c.channels, &c.batch, &c.kernel_y, &c.kernel_x, &c.stride_y, &c.stride_x, &c.dilation_y,
        &c.dilation_x, &c.pad_top, &c.pad_left, &c.out_height, &c.out_width, &c.out_channels, &c.pad_code}) {
    a(*field);
  }
  a(c.weight_base);
  a(c.weight_layout);
  a(c.weight_batch_stride);
  a(c.weight_row_stride);
  a(c.weight_column_stride);
  a(c.parameters.base);
  a(c.parameter_batch_stride);
}

template <typename Archive>
void Fields(Archive& a, Tiling& t) {
  a(t.packing);
  a(t.order);
  for (int32_t* field :
       {&t.tile_height, &t.tile_width, &t.columns_per_block, &t.groups_per_bank, &t.weight_tiles_per_bank}) {
    a(*field);
  }
}

// Scales stand behind everything else, in the order of the bits of `mask`.
template <typename Archive>
void Sections(Archive& a, Instruction& instruction, uint8_t mask) {
  if (instruction.opcode == Opcode::kEnd) return;
  const auto scales = [&](int bit, auto& s) {
    s.present = (mask & bit) != 0;
    if (s.present) Fields(a, s);
  };
  if (instruction.opcode != Opcode::kVector) {
    Fields(a, instruction.convolution);
    Fields(a, instruction.tiling);
  }
  VectorProgram& v = instruction.vector;
  Fields(a, v);
  if (instruction.opcode != Opcode::kVector) {
    scales(kInputBlocks, instruction.convolution.input_scales);
    scales(kWeightBlocks, instruction.convolution.weight_scales);
  }
  for (size_t i = 0; i < v.operands.size(); ++i) scales(kOperandBlocks << i, v.operands[i].blocks);
  scales(kOutputBlocks, v.output.blocks);
}

}  // namespace

uint8_t BlockMask(const Instruction& instruction) {
  int mask = 0;
  if (instruction.opcode != Opcode::kVector) {
    mask |= instruction.convolution.input_scales.present ? kInputBlocks : 0;
    mask |= instruction.convolution.weight_scales.present ? kWeightBlocks : 0;
  }
  for (size_t i = 0; i < instruction.vector.operands.size(); ++i) {
    mask |= instruction.vector.operands[i].blocks.present ? kOperandBlocks << i : 0;
  }
  mask |= instruction.vector.output.blocks.present ? kOutputBlocks : 0;
  return static_cast<uint8_t>(mask);
}

std::vector<uint8_t> Encode(const std::vector<Instruction>& instructions) {
  std::vector<uint8_t> bytes;
  for (Instruction instruction : instructions) {
    const size_t begin = bytes.size();
    bytes.resize(begin + kWord);
    Writer writer(bytes);
    const uint8_t mask = instruction.opcode == Opcode::kEnd ? uint8_t{0} : BlockMask(instruction);
    Sections(writer, instruction, mask);
    bytes.resize((bytes.size() + kWord - 1) / kWord * kWord);
    const uint32_t words = static_cast<uint32_t>((bytes.size() - begin) / kWord);
    bytes[begin] = static_cast<uint8_t>(instruction.opcode);
    bytes[begin + 1] = instruction.after_previous ? kAfterPrevious : 0;
    bytes[begin + 2] = mask;
    for (size_t i = 0; i < 4; ++i) {
      bytes[begin + 4 + i] = static_cast<uint8_t>(words >> (8 * i));
      bytes[begin + 8 + i] = static_cast<uint8_t>(instruction.kernel >> (8 * i));
    }
  }
  return bytes;
}

StatusOr<std::vector<Instruction>> Decode(const std::vector<uint8_t>& bytes) {
  std::vector<Instruction> instructions;
  const auto error = [&](const char* fault) {
    return ErrorAt("", fmt::format("instruction {}", instructions.size()), fault, "");
  };
  for (size_t at = 0; at < bytes.size();) {
    if (bytes.size() - at < kWord) return error("the header is cut off");
    const uint8_t* header = bytes.data() + at;
    if (header[0] > kLast<Opcode>) return error("unknown opcode");
    if (header[1] > kAfterPrevious || header[3] != 0) return error("unknown flags");
    for (size_t i = 12; i < kWord; ++i) {
      if (header[i] != 0) return error("reserved bytes are not 0");
    }
    Instruction instruction;
    instruction.opcode = static_cast<Opcode>(header[0]);
    instruction.after_previous = header[1] == kAfterPrevious;
    uint32_t words = 0;
    for (size_t i = 0; i < 4; ++i) {
      words |= uint32_t{header[4 + i]} << (8 * i);
      instruction.kernel |= uint32_t{header[8 + i]} << (8 * i);
    }
    if (words == 0 || words > (bytes.size() - at) / kWord) return error("the stated length does not fit");
    const uint8_t* end = header + words * kWord;
    Reader reader(header + kWord, end);
    Sections(reader, instruction, header[2]);
    if (reader.fault() != nullptr) return error(reader.fault());
    if (header[2] != (instruction.opcode == Opcode::kEnd ? 0 : BlockMask(instruction))) {
      return error("block scales of a stream that is not there");
    }
    if (static_cast<size_t>(end - reader.at()) >= kWord) return error("sections do not fill the stated length");
    for (const uint8_t* p = reader.at(); p < end; ++p) {
      if (*p != 0) return error("padding is not 0");
    }
    instructions.push_back(std::move(instruction));
    at += words * kWord;
  }
  return instructions;
}

}  // namespace kiln::systolic
