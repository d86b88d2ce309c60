// Converts operands of the array: checks encodings and converts constant weights to codes.
#include "kiln/targets/systolic/compile/lower_operands.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/systolic/compile/lowering.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kCodesAPiece = int64_t{1} << 16;  // that one thread converts at a time

const Format& FormatOf(Side side, const Config& config) {
  return side == Side::kInput ? config.input_format : config.weight_format;
}

// Returns the number by which the array counts an integer code of 1.
double CountOf(const Format& operand, const Config& config) {
  const bool by_value = !config.psum_format.is_integer() && operand.is_integer();
  return by_value ? std::ldexp(1.0, -operand.fraction_bits) : 1.0;
}

// Returns whether the codes of a format mean -1 and +1.
bool IsSigns(const Format& format) {
  return format.kind == FormatKind::kCodebook && format.bits == 1 &&
         DecodeFloat(format, 0) == -1.0f && DecodeFloat(format, 1) == 1.0f;
}
// Returns the code of such a format for -1 or +1.
int64_t SignCode(int64_t sign) { return sign > 0 ? 1 : 0; }

bool HasZeroPoint(const Quantisation& q) {
  return std::any_of(q.zero_points.begin(), q.zero_points.end(),
                     [](int32_t zero) { return zero != 0; });
}

std::string Blocks(const Format& scale_format, int size) {
  return size == 0 ? "" : fmt::format(" with {} scales of {}", scale_format.name, size);
}

}  // namespace

std::string HeldAs(const Encoding& e) {
  if (e.foreign != nullptr) {
    return e.foreign->type.format.name +
           Blocks(e.foreign->type.scale_format, e.foreign->type.block_size);
  }
  return (e.format.name.empty() ? "fp32" : e.format.name) + Blocks(e.scale_format, e.block_size);
}

Status CheckOperand(const Encoding& e, Side side, const Config& config, std::string_view what) {
  const Format& format = FormatOf(side, config);
  const auto refuse = [&] {
    return ToHost(
        fmt::format("{} are {}, the array takes {}{}", what, HeldAs(e), format.name,
                    e.block_size > 0 ? Blocks(config.scale_format, config.block_size) : ""));
  };
  if (e.foreign == nullptr && e.is_float() && e.format.name != format.name &&
      !(e.format.name.empty() && format.name == "fp32")) {
    return ToHost(fmt::format("{} are not quantised", what));
  }
  if (e.foreign != nullptr || e.type != ElementType::kFloat32) return refuse();
  if (e.blocked() && e.block_size != config.block_size) return refuse();
  if (IsInteger(e.element)) {
    const bool same_bytes = e.element != Element::kUint8 && e.bytes == format.bytes();
    if (!format.is_integer() || !format.is_signed || !same_bytes || e.low < format.min_code() ||
        e.high > format.max_code()) {
      return refuse();
    }
    if (e.zero_point != 0 && !config.accumulation_format.is_integer()) {
      return ToHost(
          fmt::format("{} have a zero point, the array accumulates in {} (a recipe with symmetric: "
                      "true gives none)",
                      what, config.accumulation_format.name));
    }
    return OkStatus();
  }
  // Numbers in fp32 or in the vector format are codes of an array of that format.
  const std::string name = e.format.name.empty() ? "fp32" : e.format.name;
  return name == format.name ? OkStatus() : refuse();
}

StatusOr<int> FindPrecision(const Config& config,
                            const std::function<Status(const Config& at)>& takes) {
  std::string reasons;
  for (int p = 0; p < config.precisions(); ++p) {
    const Config at = AtPrecision(config, p);
    Status taken = takes(at);
    if (taken.ok()) return p;
    if (config.precisions() == 1 || !IsRefusal(taken)) return taken;
    reasons +=
        fmt::format("{}as {}: {}", p > 0 ? "; " : "", DescribePrecisions(at), MessageOf(taken));
  }
  return ToHost(reasons);
}

double FactorOf(const Encoding& e, Side side, const Config& config) {
  const Format& format = FormatOf(side, config);
  if (IsInteger(e.element)) return e.scale / CountOf(format, config);
  return double{UnitOf(format, config)} * e.scale;
}

CodeRange CountsOf(const Format& format) {
  if (format.is_integer()) return {format.min_code(), format.max_code()};
  if (!IsIntegerOperand(format)) return {};
  CodeRange counts;
  for (uint32_t code = 0; code < uint32_t{1} << format.bits; ++code) {
    const int64_t count = IntegerOperand(format, code);
    counts.low = std::min(counts.low, count);
    counts.high = std::max(counts.high, count);
  }
  return counts;
}

CodeRange CountsOf(const Encoding& e, Side side, const Config& config) {
  return IsInteger(e.element) ? CodeRange{e.low, e.high} : CountsOf(FormatOf(side, config));
}

StatusOr<int32_t> PadCodeOf(const Encoding& e, const Config& config) {
  if (IsInteger(e.element)) return e.zero_point;
  const Format& format = config.input_format;
  if (!HasZero(format))
    return ToHost(fmt::format("padding with zero, which {} has not", format.name));
  return static_cast<int32_t>(StoredBits(format, ZeroCode(format)));
}

std::vector<float> BiasOf(std::span<const Value* const> constants, int64_t channels) {
  std::vector<double> sum(static_cast<size_t>(channels), 0.0);
  for (const Value* constant : constants) {
    const auto values = constant->constant().data<float>();
    for (size_t c = 0; c < sum.size(); ++c) sum[c] += values[values.size() == 1 ? 0 : c];
  }
  return {sum.begin(), sum.end()};
}

void FillOffsets(const WeightCodes& codes, const Format& format, int64_t batch, int32_t input_zero,
                 ParameterSets* parameters) {
  if (input_zero == 0) return;  // always so with float sums
  std::vector<int64_t> sums(static_cast<size_t>(codes.columns), 0);
  const int64_t begin = batch * codes.rows * codes.columns;
  if (format.bytes() == 1) {
    std::array<int64_t, 256> counts;  // of each byte
    for (size_t b = 0; b < counts.size(); ++b) {
      const auto byte = static_cast<uint8_t>(b);
      counts[b] = IntegerOperand(format, kiln::LoadCode(format, &byte, 0));
    }
    const uint8_t* at = codes.codes.data() + begin;
    for (int64_t r = 0; r < codes.rows; ++r) {
      for (int64_t& sum : sums) sum += counts[*at++];
    }
  } else {
    int64_t at = begin;
    for (int64_t r = 0; r < codes.rows; ++r) {
      for (int64_t& sum : sums)
        sum += IntegerOperand(format, kiln::LoadCode(format, codes.codes.data(), at++));
    }
  }
  for (int64_t n = 0; n < codes.columns; ++n) {
    parameters->offsets[static_cast<size_t>(batch * codes.columns + n)] =
        static_cast<int32_t>(-sums[static_cast<size_t>(n)] * input_zero);
  }
}

OperandScales InputScales(const View& input, int64_t batch_stride, int64_t row_stride,
                          int64_t column_stride) {
  OperandScales scales;
  if (!input.blocked()) return scales;
  scales.present = true;
  scales.batch_stride = batch_stride;
  scales.row_stride = row_stride;
  scales.column_stride = column_stride;
  return scales;
}

StatusOr<ConstantWeights> ConstantWeights::Read(const Value& value, int reduction_axis,
                                                const Config& config) {
  if (value.element() != ElementType::kFloat32) return ToHost("weights are not fp32");
  const bool quantised = value.quantisation().has_value();
  if (!quantised && config.weight_format.name != "fp32") return ToHost("weights are not quantised");
  ConstantWeights w;
  w.value_ = &value;
  w.array_format_ = config.weight_format;
  Quantisation fp32;
  fp32.type.format = *FindFormat("fp32");
  const Quantisation q = w.annotation_ = CompleteAnnotation(value.quantisation().value_or(fp32));
  const Format& format = q.type.format;
  if (q.type.scheme == Scheme::kPerBlock) {
    const bool fits = format == config.weight_format && q.type.block_size == config.block_size &&
                      q.type.scale_format == config.scale_format;
    if (!fits) {
      return ToHost(fmt::format("weights are {}{}, the array takes {}{}", format.name,
                                Blocks(q.type.scale_format, q.type.block_size),
                                config.weight_format.name,
                                Blocks(config.scale_format, config.block_size)));
    }
    if (!q.scales.empty()) return ToHost("weights have block scales of their own");
    if (q.axis != reduction_axis)
      return ToHost("weights have block scales along another axis than the reduction");
    w.blocked_ = true;
    w.unit_ = UnitOf(config.weight_format, config);
    return w;
  }
  if (w.per_channel()) {
    const Shape& shape = value.shape();
    if (q.axis < 0 || q.axis >= shape.rank() || shape[q.axis] != std::ssize(q.scales)) {
      return ToHost("weights have scales along something else than one axis");
    }
    w.channel_stride_ = RowMajorStrides(shape)[static_cast<size_t>(q.axis)];
    w.channels_ = shape[q.axis];
  }
  // Integer weights fit any integer array that can hold their codes, and those of -1 and +1 an
  // array of such weights; all others must be in the array's own format.
  w.signs_ = IsSigns(config.weight_format);
  w.whole_ = format.is_integer() && format.rounding == Rounding::kNearestEven &&
             format.overflow == Overflow::kSaturate &&
             (config.weight_format.is_integer() || w.signs_);
  if (w.whole_) {
    // The codes of a format with fraction bits are all of its codes (execute/codes.h).
    w.range_ = CodesOf(format, q.type.symmetric && format.is_whole());
    w.unit_ = std::ldexp(1.0, -format.fraction_bits) / CountOf(config.weight_format, config);
    KILN_RETURN_IF_ERROR(w.signs_ ? w.CheckSigns() : w.CheckCodes(config));
    return w;
  }
  if (format != config.weight_format || HasZeroPoint(q)) {
    return ToHost(
        fmt::format("weights are {}, the array takes {}", format.name, config.weight_format.name));
  }
  w.unit_ = UnitOf(config.weight_format, config);
  return w;
}

// Accepts any integer format whose codes, minus their zero points, fit the array's element: int2 on
// an array of int8, or uint8 around 128. The codes themselves are examined only if there are zero
// points or the format is wider.
Status ConstantWeights::CheckCodes(const Config& config) const {
  const int64_t least = config.weight_format.min_code(), greatest = config.weight_format.max_code();
  if (!HasZeroPoint(annotation_) && range_.low >= least && range_.high <= greatest)
    return OkStatus();
  const Tensor codes = QuantiseConstant(value_->constant(), annotation_).codes;
  for (int64_t i = 0; i < codes.size(); ++i) {
    const int64_t code = WholeCode(codes, i);
    if (code < least || code > greatest) {
      return ToHost(fmt::format("weights are {} with codes that do not fit the array's {}",
                                annotation_.type.format.name, config.weight_format.name));
    }
  }
  return OkStatus();
}

// Accepts integers whose codes, minus their zero points, are -1 and +1.
Status ConstantWeights::CheckSigns() const {
  const Tensor codes = QuantiseConstant(value_->constant(), annotation_).codes;
  for (int64_t i = 0; i < codes.size(); ++i) {
    const int64_t code = WholeCode(codes, i);
    if (code == -1 || code == 1) continue;
    return ToHost(
        fmt::format("weights are {}, the array takes {}: weight {} of '{}' is {} times "
                    "its scale, not -1 or 1",
                    annotation_.type.format.name, array_format_.name, i, value_->name(), code));
  }
  return OkStatus();
}

int64_t ConstantWeights::WholeCode(const Tensor& codes, int64_t element) const {
  return std::clamp(codes.IntAt(element), range_.low, range_.high) -
         annotation_.zero_points[ScaleIndex(element)];
}

ConstantCodes ConstantWeights::ArrayCodes() const {
  ConstantCodes constant = QuantiseConstant(value_->constant(), annotation_);
  if (!whole_) return constant;
  const int bytes = array_format_.bytes();
  // Codes without a zero point are within range_ and what the array reads, unless their size or
  // their meaning differs.
  if (!signs_ && !HasZeroPoint(annotation_) && SizeOf(constant.codes.type()) == bytes)
    return constant;
  Tensor codes(CodeElementType(array_format_), constant.codes.shape());
  auto* to = reinterpret_cast<uint8_t*>(codes.mutable_bytes());
  ParallelFor(codes.size(), kCodesAPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t code = WholeCode(constant.codes, i);
      StoreBits(static_cast<uint32_t>(signs_ ? SignCode(code) : code), bytes, to + i * bytes);
    }
  });
  return {std::move(codes), {}};
}

int ConstantWeights::PackedBits(const WeightCodes& weights) const {
  if (!array_format_.is_integer() || !array_format_.is_signed)
    return array_format_.bits < 8 ? array_format_.bits : 0;
  CodeRange range = range_;
  if (HasZeroPoint(annotation_) || !whole_) {
    range = {};
    const int64_t count = std::ssize(weights.codes) / weights.bytes;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t code =
          SignedCode(array_format_, kiln::LoadCode(array_format_, weights.codes.data(), i));
      range = {std::min(range.low, code), std::max(range.high, code)};
    }
  }
  int bits = 1;
  while (range.low < -(int64_t{1} << (bits - 1)) || range.high >= int64_t{1} << (bits - 1)) ++bits;
  return bits < 8 ? bits : 0;
}

std::shared_ptr<const WeightCodes> ConstantWeights::Codes(
    const std::vector<int64_t>& split, const std::array<int64_t, 4>& axes) const {
  const auto size = [&](size_t i) { return split[static_cast<size_t>(axes[i])]; };
  const auto arranged = [&](const Tensor& tensor, const std::vector<int64_t>& shape) {
    const Tensor out = Gather(tensor, Transposed(RowMajorView(shape), axes));
    const auto* bytes = reinterpret_cast<const uint8_t*>(out.bytes());
    return LargeBytes(bytes, bytes + out.num_bytes());
  };
  const ConstantCodes constant = ArrayCodes();
  auto out = std::make_shared<WeightCodes>();
  out->batches = size(0);
  out->rows = size(1) * size(2);
  out->columns = size(3);
  out->channels = size(2);
  out->bytes = array_format_.bytes();
  out->codes = arranged(constant.codes, split);
  out->packed_bits = PackedBits(*out);
  if (!blocked()) return out;
  out->block_size = annotation_.type.block_size;
  out->scale_bytes = annotation_.type.scale_format.bytes();
  std::vector<int64_t> blocks = split;
  blocks[static_cast<size_t>(axes[2])] = out->blocks();
  out->scales = arranged(constant.scales, blocks);
  return out;
}

}  // namespace kiln::systolic
