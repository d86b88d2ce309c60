// Encodes instructions to bits and decodes them, in the layout of
// rtl/systolic/kiln_systolic_pkg.sv: 16-byte instruction words with fields from the most
// significant bit down. One list of fields serves both directions, so the two cannot diverge.
#include <bit>
#include <span>
#include <type_traits>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/isa_derived.h"

namespace kiln::systolic {
namespace {

constexpr size_t kWordBytes = 16;
constexpr int kPayloadBits = 112;
using Bits = unsigned __int128;  // one instruction word

enum class Tag : uint8_t {
  kHeader = 0,
  kTiling = 1,
  kReduction = 2,
  kRegion = 3,
  kInput = 4,
  kInputScales = 5,
  kWeights = 6,
  kWeightScales = 7,
  kParameters = 8,
  kVector = 9,
  kStream = 10,
  kStreamScales = 11,
  kWindow = 12,
  kPass = 13,
  kStage = 14,
};

// Widths in bits.
constexpr int kFlag = 1, kPackedBits = 3, kRow = 16, kCount = 24, kWide = 32,
              kAddress = kAddressBits;

// Bits of BlockMask.
constexpr int kInputBlocks = 1, kWeightBlocks = 2, kOperandBlocks = 4, kOutputBlocks = 32;
// A stream's instruction words have indices from kStreamIndex * stream; the output is stream
// kOutputStream.
constexpr int kStreamIndex = 16, kOutputStream = 3;
// Stages of a pass have indices from kStageIndex * pass; its scalar stages start kScalarStages
// later.
constexpr int kStageIndex = 32, kScalarStages = 16;

// The highest enumerator of each enumeration, for the decoder.
template <typename E>
constexpr uint64_t kLast = 0;
template <>
constexpr uint64_t kLast<Opcode> = static_cast<uint64_t>(Opcode::kVector);
template <>
constexpr uint64_t kLast<Element> = kElements - 1;
template <>
constexpr uint64_t kLast<Combine> = static_cast<uint64_t>(Combine::kSum);
template <>
constexpr uint64_t kLast<Source> = static_cast<uint64_t>(Source::kConstant);
template <>
constexpr uint64_t kLast<Argument> = static_cast<uint64_t>(Argument::kSaved1);
template <>
constexpr uint64_t kLast<StageOp> = static_cast<uint64_t>(StageOp::kDivide);
template <>
constexpr uint64_t kLast<NonlinearFunction> = static_cast<uint64_t>(kLastFunction);
template <>
constexpr uint64_t kLast<Reduce> = static_cast<uint64_t>(Reduce::kMax);
template <>
constexpr uint64_t kLast<Packing> = static_cast<uint64_t>(Packing::kTaps);
template <>
constexpr uint64_t kLast<WeightLayout> = static_cast<uint64_t>(WeightLayout::kStrided);
template <>
constexpr uint64_t kLast<Order> = static_cast<uint64_t>(Order::kWeightOuter);

// Writes fields into instruction words.
class Writer {
 public:
  explicit Writer(std::vector<uint8_t>& bytes) : bytes_(bytes) {}
  ~Writer() { Finish(); }

  // Starts the next instruction word.
  void Word(Tag tag, int index) {
    Finish();
    word_ = Bits{static_cast<uint8_t>(tag)} << 120 | Bits{static_cast<uint8_t>(index)}
                                                         << kPayloadBits;
    free_ = kPayloadBits;
    open_ = true;
  }
  template <typename T>
  void operator()(int bits, T& value) {
    if constexpr (std::is_same_v<T, float>) {
      Put(bits, std::bit_cast<uint32_t>(value));
    } else {
      Put(bits, static_cast<uint64_t>(value));
    }
  }
  // Writes a derived member.
  template <typename T>
  void Follows(int bits, T value) {
    (*this)(bits, value);
  }

 private:
  void Put(int bits, uint64_t value) {
    KILN_CHECK(bits <= free_);
    free_ -= bits;
    word_ |= Bits{value & ((uint64_t{1} << bits) - 1)} << free_;
  }
  void Finish() {
    if (!open_) return;
    for (size_t i = 0; i < kWordBytes; ++i)
      bytes_.push_back(static_cast<uint8_t>(word_ >> (8 * i)));
    open_ = false;
  }

  std::vector<uint8_t>& bytes_;
  Bits word_ = 0;
  int free_ = 0;  // bits below the ones in use
  bool open_ = false;
};

// Reads fields from instruction words. Remembers the first fault and returns zeros after it.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  void Word(Tag tag, int index) {
    if (!fault_.empty()) return;
    word_ = 0;
    free_ = kPayloadBits;
    if (bytes_.size() < kWordBytes) return Fail("the stated length is shorter than the sections");
    for (size_t i = 0; i < kWordBytes; ++i) word_ |= Bits{bytes_[i]} << (8 * i);
    bytes_ = bytes_.subspan(kWordBytes);
    const auto found_tag = static_cast<uint8_t>(word_ >> 120),
               found_index = static_cast<uint8_t>(word_ >> kPayloadBits);
    if (found_tag != static_cast<uint8_t>(tag) || found_index != index) {
      Fail(fmt::format("word {} has tag {} and index {} where {} and {} belong", words_, found_tag,
                       found_index, static_cast<int>(tag), index));
    }
    ++words_;
  }
  template <typename T>
  void operator()(int bits, T& value) {
    const uint64_t code = Take(bits);
    if constexpr (std::is_enum_v<T>) {
      if (code > kLast<T>)
        return Fail(fmt::format("word {} has an unknown enumerator", words_ - 1));
      value = static_cast<T>(code);
    } else if constexpr (std::is_same_v<T, float>) {
      value = std::bit_cast<float>(static_cast<uint32_t>(code));
    } else if constexpr (std::is_signed_v<T>) {
      value = static_cast<T>(bits == kCount ? static_cast<int64_t>(code) : Signed(bits, code));
    } else {
      value = static_cast<T>(code);
    }
  }
  // Skips a derived member. Decode compares it once all fields are known.
  template <typename T>
  void Follows(int bits, T) {
    Take(bits);
  }

  // Returns the bytes after the last instruction word read.
  size_t left() const { return bytes_.size(); }
  const std::string& fault() const { return fault_; }

 private:
  static int64_t Signed(int bits, uint64_t code) {
    return static_cast<int64_t>(code << (64 - bits)) >> (64 - bits);
  }
  uint64_t Take(int bits) {
    if (!fault_.empty()) return 0;
    free_ -= bits;
    return static_cast<uint64_t>(word_ >> free_) & ((uint64_t{1} << bits) - 1);
  }
  void Fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }
  std::span<const uint8_t> bytes_;
  Bits word_ = 0;
  int free_ = 0;
  int words_ = 0;
  std::string fault_;
};

// The fields of the header, the first instruction word.
struct Header {
  Opcode opcode = Opcode::kEnd;
  uint8_t wait_distance = 0;
  bool window = false, user_unit = false;
  uint8_t blocks = 0;
  uint8_t operands = 0, passes = 0;
  uint16_t length = 0;  // instruction words
  uint32_t kernel = 0;
  uint8_t precision = 0;
};

// Convert a mask of BlockMask to the order of bits in the package, and back: input, weights,
// operands 2 to 0, output.
uint8_t MaskToBits(uint8_t mask) {
  return static_cast<uint8_t>((mask & kInputBlocks) << 5 | (mask & kWeightBlocks) << 3 |
                              (mask >> 2 & 7) << 1 | mask >> 5);
}
uint8_t MaskFromBits(uint8_t bits) {
  return static_cast<uint8_t>((bits >> 5 & 1) | (bits >> 4 & 1) << 1 | (bits >> 1 & 7) << 2 |
                              (bits & 1) << 5);
}

Header HeaderOf(const Instruction& in) {
  Header h;
  h.opcode = in.opcode;
  h.wait_distance = in.wait_distance;
  h.user_unit = in.user_unit;
  h.kernel = in.kernel;
  h.precision = in.precision;
  if (in.opcode == Opcode::kEnd) return h;
  KILN_CHECK(in.vector.operands.size() <= kMaxOperands && in.vector.passes.size() <= kMaxPasses);
  h.window = in.vector.window.combine != Combine::kNone;
  h.blocks = MaskToBits(BlockMask(in));
  h.operands = static_cast<uint8_t>(in.vector.operands.size());
  h.passes = static_cast<uint8_t>(in.vector.passes.size());
  return h;
}

// Sets opcode, flags and counts of an instruction from its header. Returns the fault, or "".
std::string CheckShape(const Header& h, Instruction* in) {
  in->opcode = h.opcode;
  in->wait_distance = h.wait_distance;
  in->user_unit = h.user_unit;
  in->kernel = h.kernel;
  in->precision = h.precision;
  if (h.opcode == Opcode::kEnd) return "";
  if (h.operands > kMaxOperands || h.passes > kMaxPasses) return "a count is beyond its limit";
  const uint8_t mask = MaskFromBits(h.blocks);
  in->convolution.input_scales.present = (mask & kInputBlocks) != 0;
  in->convolution.weight_scales.present = (mask & kWeightBlocks) != 0;
  in->vector.operands.resize(h.operands);
  for (size_t i = 0; i < in->vector.operands.size(); ++i) {
    in->vector.operands[i].blocks.present = (mask & kOperandBlocks << i) != 0;
  }
  in->vector.output.blocks.present = (mask & kOutputBlocks) != 0;
  in->vector.passes.resize(h.passes);
  if (BlockMask(*in) != mask) return "block scales of a stream that is not there";
  return "";
}

template <typename Archive>
void Fields(Archive& a, Header& h) {
  a.Word(Tag::kHeader, 0);
  a(8, h.opcode);
  a(8, h.wait_distance);
  a(kFlag, h.window);
  a(6, h.blocks);
  a(2, h.operands);
  a(3, h.passes);
  a(16, h.length);
  a(32, h.kernel);
  a(kFlag, h.user_unit);
  a(2, h.precision);
}

template <typename Archive>
void Counts(Archive& a, std::initializer_list<int32_t*> counts) {
  for (int32_t* count : counts) a(kCount, *count);
}

template <typename Archive>
void TilingFields(Archive& a, Instruction& in, const Derived& d) {
  const Geometry& g = d.geometry;
  Tiling& t = in.tiling;
  a.Word(Tag::kTiling, 0);
  a(kCount, in.convolution.batch);
  for (const int32_t count : {g.tiles_y, g.tiles_x, g.blocks}) a.Follows(kCount, count);
  a(kFlag, t.order);
  a(kFlag, t.packing);
  for (const bool flag : {g.inputs_resident, g.weights_resident, d.parameters_by_batch})
    a.Follows(kFlag, flag);
  a.Word(Tag::kTiling, 1);
  Counts(a, {&t.tile_height, &t.tile_width});
  a.Follows(kCount, d.last_tile_height);
  a.Follows(kCount, d.last_tile_width);
  a.Word(Tag::kTiling, 2);
  a(kCount, t.columns_per_block);
  a.Follows(kCount, d.last_block_columns);
  a.Follows(kRow, d.last_tile_columns);
  a.Follows(kCount, d.tile_pixels);
  a.Follows(kRow, d.visits);
}

template <typename Archive>
void ReductionFields(Archive& a, Instruction& in, const Derived& d) {
  a.Word(Tag::kReduction, 0);
  a(kCount, in.tiling.groups_per_bank);
  for (const int32_t count : {d.geometry.groups, d.fills, d.last_fill_groups})
    a.Follows(kCount, count);
  a.Follows(kRow, d.last_group_rows);
  a.Word(Tag::kReduction, 1);
  Counts(a, {&in.tiling.weight_tiles_per_bank, &in.convolution.kernel_y, &in.convolution.kernel_x});
  a.Follows(kCount, d.geometry.rows_per_group);
}

template <typename Archive>
void RegionFields(Archive& a, const Derived& d) {
  a.Word(Tag::kRegion, 0);
  for (const int64_t places : {d.places_y, d.places_x, d.last_places_y, d.last_places_x})
    a.Follows(kCount, places);
  a.Follows(kFlag, d.compact_y);
  a.Follows(kFlag, d.compact_x);
  a.Word(Tag::kRegion, 1);
  for (const int64_t step : {d.row_pitch, d.group_pitch, d.output_row_step, d.output_column_step}) {
    a.Follows(kCount, step);
  }
  a.Word(Tag::kRegion, 2);
  for (const int64_t step : {d.tap_row_step, d.tap_column_step, d.tap_steps})
    a.Follows(kCount, step);
}

template <typename Archive>
void InputFields(Archive& a, Convolution& c, const Derived& d) {
  const ImageSteps& s = d.input;
  a.Word(Tag::kInput, 0);
  a(kAddress, c.input_base);
  a(kAddress, c.input_batch_stride);
  a(kWide, c.pad_code);
  a.Word(Tag::kInput, 1);
  a(kAddress, c.input_row_stride);
  a(kAddress, c.input_column_stride);
  a.Follows(kWide, d.run_entries);
  a.Word(Tag::kInput, 2);
  a.Follows(kAddress, s.row_origin);
  a.Follows(kAddress, s.column_origin);
  a.Follows(kWide, d.tile_rows);
  a.Word(Tag::kInput, 3);
  a.Follows(kAddress, s.tile_row_stride);
  a.Follows(kAddress, s.tile_column_stride);
  a.Follows(kWide, d.tile_columns);
  a.Word(Tag::kInput, 4);
  a.Follows(kAddress, s.output_row_stride);
  a.Follows(kAddress, s.output_column_stride);
  a(kCount, c.height);
  a.Word(Tag::kInput, 5);
  a.Follows(kAddress, s.tap_row_stride);
  a.Follows(kAddress, s.tap_column_stride);
  a(kCount, c.width);
  a.Word(Tag::kInput, 6);
  a.Follows(kAddress, d.row_bytes);
  Counts(a, {&c.channels, &c.pad_top, &c.pad_left});
  a.Word(Tag::kInput, 7);
  Counts(a, {&c.stride_y, &c.stride_x, &c.dilation_y, &c.dilation_x});
  a.Follows(kFlag, d.joined);
}

// Encodes or decodes the words that the scales of the input and of the weights have in common.
template <typename Archive>
void Fields(Archive& a, Tag tag, OperandScales& s) {
  a.Word(tag, 0);
  a(kAddress, s.base);
  a(kAddress, s.batch_stride);
  a.Word(tag, 1);
  a(kAddress, s.row_stride);
  a(kAddress, s.column_stride);
}

// Encodes or skips an instruction word of two derived strides.
template <typename Archive>
void Pair(Archive& a, Tag tag, int index, int64_t first, int64_t second) {
  a.Word(tag, index);
  a.Follows(kAddress, first);
  a.Follows(kAddress, second);
}

template <typename Archive>
void ConvolutionFields(Archive& a, Instruction& in, const Derived& d) {
  Convolution& c = in.convolution;
  TilingFields(a, in, d);
  ReductionFields(a, in, d);
  RegionFields(a, d);
  InputFields(a, c, d);
  if (c.input_scales.present) {
    const ImageSteps& s = d.input_scales;
    Fields(a, Tag::kInputScales, c.input_scales);
    Pair(a, Tag::kInputScales, 2, s.row_origin, s.column_origin);
    Pair(a, Tag::kInputScales, 3, s.tile_row_stride, s.tile_column_stride);
    Pair(a, Tag::kInputScales, 4, s.output_row_stride, s.output_column_stride);
    Pair(a, Tag::kInputScales, 5, s.tap_row_stride, s.tap_column_stride);
  }
  a.Word(Tag::kWeights, 0);
  a(kAddress, c.weight_base);
  a(kAddress, c.weight_batch_stride);
  a(kFlag, c.weight_layout);
  a.Follows(kFlag, d.by_columns);
  a(kPackedBits, c.weight_bits);
  a.Word(Tag::kWeights, 1);
  a(kAddress, c.weight_row_stride);
  a(kAddress, c.weight_column_stride);
  Pair(a, Tag::kWeights, 2, d.weights.group_stride, d.weights.column_tile_stride);
  if (c.weight_scales.present) {
    Fields(a, Tag::kWeightScales, c.weight_scales);
    Pair(a, Tag::kWeightScales, 2, d.weight_scales.group_stride,
         d.weight_scales.column_tile_stride);
  }
  a.Word(Tag::kParameters, 0);
  a(kAddress, c.parameters.base);
  a(kAddress, c.parameter_batch_stride);
  a(kCount, c.out_channels);
}

// Encodes or decodes stream `number`. The factor, zero point and limits are those of an operand
// (which has no limits) or of the output's quantisation.
template <typename Archive>
void Fields(Archive& a, int number, Stream& s, float& factor, int32_t& zero_point, int32_t& low,
            int32_t& high, const StreamSteps& steps) {
  const int first = kStreamIndex * number;
  a.Word(Tag::kStream, first);
  a(kAddress, s.base);
  a(kAddress, s.element_stride);
  a(4, s.element);
  a.Follows(2, steps.access);
  a.Word(Tag::kStream, first + 1);
  a(kAddress, s.outer_stride[0]);
  a(kAddress, s.outer_stride[1]);
  a(kWide, factor);
  a.Word(Tag::kStream, first + 2);
  a(kAddress, s.outer_stride[2]);
  a(kAddress, s.outer_stride[3]);
  a(kWide, zero_point);
  a.Word(Tag::kStream, first + 3);
  a.Follows(kAddress, steps.word_stride);
  a(kWide, low);
  a(kWide, high);
  if (!s.blocks.present) return;
  BlockScales& b = s.blocks;
  a.Word(Tag::kStreamScales, first);
  a(kAddress, b.base);
  a(kAddress, b.outer_stride[0]);
  a.Word(Tag::kStreamScales, first + 1);
  a(kAddress, b.outer_stride[1]);
  a(kAddress, b.outer_stride[2]);
  a.Word(Tag::kStreamScales, first + 2);
  a(kAddress, b.outer_stride[3]);
  a.Word(Tag::kStreamScales, first + 3);
  a(kAddress, b.row_stride);
  a(kAddress, b.column_stride);
  Pair(a, Tag::kStreamScales, first + 4, steps.scales.row_origin, steps.scales.column_origin);
  Pair(a, Tag::kStreamScales, first + 5, steps.scales.output_row_stride,
       steps.scales.output_column_stride);
  Pair(a, Tag::kStreamScales, first + 6, steps.scales.tap_row_stride,
       steps.scales.tap_column_stride);
}

template <typename Archive>
void Fields(Archive& a, Window& w, const Derived& d) {
  a.Word(Tag::kWindow, 0);
  Counts(a, {&w.window_y, &w.window_x, &w.stride_y, &w.stride_x});
  a(2, w.combine);
  a(kFlag, w.average);
  a(kFlag, w.divide_by_valid);
  a.Word(Tag::kWindow, 1);
  Counts(a, {&w.dilation_y, &w.dilation_x, &w.pad_top, &w.pad_left});
  a.Word(Tag::kWindow, 2);
  Counts(a, {&w.height, &w.width});
  a.Follows(kWide, d.window_factor);
  a.Word(Tag::kWindow, 3);
  a(kAddress, w.row_stride);
  a(kAddress, w.column_stride);
  Pair(a, Tag::kWindow, 4, d.window.row_origin, d.window.column_origin);
  Pair(a, Tag::kWindow, 5, d.window.output_row_stride, d.window.output_column_stride);
  Pair(a, Tag::kWindow, 6, d.window.tap_row_stride, d.window.tap_column_stride);
}

template <typename Archive>
void Fields(Archive& a, int index, Stage& s) {
  a.Word(Tag::kStage, index);
  a(4, s.op);
  a(4, s.a);
  a(4, s.b);
  a(4, s.function);
  a(kWide, s.immediate_a);
  a(kWide, s.immediate_b);
}

// Encodes or decodes a pass and its stages. Returns false if there are more stages than a pass can
// have.
template <typename Archive>
bool Fields(Archive& a, int number, Pass& p, const PassSteps& steps) {
  auto stages = static_cast<uint8_t>(p.stages.size()),
       scalar_stages = static_cast<uint8_t>(p.scalar_stages.size());
  a.Word(Tag::kPass, number);
  a(2, p.source);
  a(2, p.reduce);
  a(2, p.into);
  a(kFlag, p.to_row_buffer);
  a(kFlag, p.to_memory);
  a.Follows(3, steps.reads);
  a(4, stages);
  a(4, scalar_stages);
  a.Follows(kRow, steps.gap);
  a(kWide, p.constant);
  if (stages > kMaxStages || scalar_stages > kMaxStages) return false;
  p.stages.resize(stages);
  p.scalar_stages.resize(scalar_stages);
  int index = kStageIndex * number;
  for (Stage& stage : p.stages) Fields(a, index++, stage);
  index = kStageIndex * number + kScalarStages;
  for (Stage& stage : p.scalar_stages) Fields(a, index++, stage);
  return true;
}

template <typename Archive>
bool VectorFields(Archive& a, VectorProgram& v, bool window, const Derived& d) {
  a.Word(Tag::kVector, 0);
  for (int32_t& count : v.outer) a(kCount, count);
  a.Word(Tag::kVector, 1);
  a(kCount, v.length);
  a.Follows(kCount, d.words);
  a.Follows(kRow, d.last_lanes);
  a.Follows(kRow, d.rows_in_flight);
  a.Follows(kRow, d.depth);
  a.Follows(kFlag, d.reads_memory);
  int32_t low = 0, high = 0;  // of operands
  for (size_t i = 0; i < v.operands.size(); ++i) {
    Stream& s = v.operands[i];
    Fields(a, static_cast<int>(i), s, s.scale, s.zero_point, low, high, d.operands[i]);
  }
  if (window) Fields(a, v.window, d);
  for (size_t p = 0; p < v.passes.size(); ++p) {
    if (!Fields(a, static_cast<int>(p), v.passes[p], d.passes[p])) return false;
  }
  QuantiseOut& q = v.quantise;
  Fields(a, kOutputStream, v.output, q.inverse_scale, q.zero_point, q.low, q.high, d.output);
  return low == 0 && high == 0;
}

// Encodes or decodes all instruction words after the header. Returns false if a count is beyond its
// limit or an operand has limits.
template <typename Archive>
bool Sections(Archive& a, Instruction& in, const Header& h, const Derived& d) {
  if (in.opcode == Opcode::kEnd) return true;
  if (in.opcode != Opcode::kVector) ConvolutionFields(a, in, d);
  return VectorFields(a, in.vector, h.window, d);
}

void Encode(Instruction in, const Config& config, std::vector<uint8_t>* bytes) {
  const size_t begin = bytes->size();
  Header header = HeaderOf(in);
  bytes->resize(begin + kWordBytes);
  {
    Writer writer(*bytes);
    KILN_CHECK(Sections(writer, in, header, DeriveMembers(in, config)));
  }
  header.length = static_cast<uint16_t>((bytes->size() - begin) / kWordBytes);
  std::vector<uint8_t> first;
  {
    Writer writer(first);
    Fields(writer, header);
  }
  std::copy(first.begin(), first.end(), bytes->begin() + static_cast<std::ptrdiff_t>(begin));
}

// Decodes the instruction that takes exactly these bytes. Returns the fault, or "".
std::string DecodeOne(std::span<const uint8_t> bytes, const Config& config, Instruction* in) {
  Reader reader(bytes);
  Header header;
  Fields(reader, header);
  if (const std::string fault = CheckShape(header, in); !fault.empty()) return fault;
  const bool whole = Sections(reader, *in, header, Derived{});
  if (!reader.fault().empty()) return reader.fault();
  if (!whole) return "a count is beyond its limit";
  if (reader.left() > 0) return "sections do not fill the stated length";
  if (in->opcode == Opcode::kMatrix || in->opcode == Opcode::kDepthwise) {
    // The encoding stores them in the vector program, which walks the convolution's output.
    in->convolution.out_height = in->vector.outer[1];
    in->convolution.out_width = in->vector.outer[2];
  }
  if (const Status status = CheckInstruction(*in, config); !status.ok()) return MessageOf(status);
  std::vector<uint8_t> again;
  Encode(*in, config, &again);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i >= again.size() || again[i] != bytes[i]) {
      return fmt::format(
          "word {} has a derived member that does not follow from the others, or reserved bits set",
          i / kWordBytes);
    }
  }
  return again.size() == bytes.size() ? "" : "the stated length is shorter than the sections";
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

std::vector<uint8_t> Encode(std::span<const Instruction> instructions, const Config& config) {
  std::vector<uint8_t> bytes;
  for (const Instruction& instruction : instructions) Encode(instruction, config, &bytes);
  return bytes;
}

std::vector<uint8_t> Encode(const Instruction& instruction, const Config& config) {
  return Encode(std::span(&instruction, 1), config);
}

StatusOr<std::vector<Instruction>> Decode(const std::vector<uint8_t>& bytes, const Config& config) {
  std::vector<Instruction> instructions;
  const auto error = [&](const std::string& fault) {
    return ErrorAt("", fmt::format("instruction {}", instructions.size()), fault, "");
  };
  for (size_t at = 0; at < bytes.size();) {
    const std::span<const uint8_t> rest = std::span(bytes).subspan(at);
    if (rest.size() < kWordBytes) return error("the header is cut off");
    Reader reader(rest);
    Header header;
    Fields(reader, header);
    if (!reader.fault().empty()) return error("no header: " + reader.fault());
    if (header.length == 0 || header.length > rest.size() / kWordBytes)
      return error("the stated length does not fit");
    Instruction instruction;
    const std::string fault =
        DecodeOne(rest.first(header.length * kWordBytes), config, &instruction);
    if (!fault.empty()) return error(fault);
    instructions.push_back(std::move(instruction));
    at += header.length * kWordBytes;
  }
  return instructions;
}

}  // namespace kiln::systolic
