#include "kiln/targets/systolic/lower_operands.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/targets/systolic/lowering.h"
#include "kiln/targets/systolic/numbers.h"

namespace kiln::systolic {
namespace {

const Format& FormatOf(Side side, const Config& config) {
  return side == Side::kInput ? config.input_format : config.weight_format;
}

// What the array counts an integer code of 1 as.
double CountOf(const Format& operand, const Config& config) {
  const bool by_value = !config.psum_format.is_integer() && operand.is_integer();
  return by_value ? std::ldexp(1.0, -operand.fraction_bits) : 1.0;
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
  // Numbers in fp32 or the vector format are codes of an array of that format.
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
    if (config.precisions() == 1 || taken.code() != StatusCode::kUnimplemented) return taken;
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
  return static_cast<int32_t>(MemoryBits(format, ZeroCode(format)));
}

StatusOr<ConstantWeights> ConstantWeights::Read(const Value& value, int reduction_axis,
                                                const Config& config) {
  if (value.element() != ElementType::kFloat32) return ToHost("weights are not fp32");
  ConstantWeights w;
  w.values_ = value.constant().data<float>();
  w.array_format_ = config.weight_format;
  w.format_ = *FindFormat("fp32");
  w.scales_ = {1.0f};
  const bool quantised = value.quantisation().has_value();
  if (!quantised && config.weight_format.name != "fp32") return ToHost("weights are not quantised");
  const Quantisation q = quantised ? *value.quantisation() : Quantisation{};
  if (quantised) w.format_ = q.type.format;
  if (quantised && q.type.scheme == Scheme::kPerBlock) {
    const bool fits = w.format_ == config.weight_format && q.type.block_size == config.block_size &&
                      q.type.scale_format == config.scale_format;
    if (!fits) {
      return ToHost(fmt::format("weights are {}{}, the array takes {}{}", w.format_.name,
                                Blocks(q.type.scale_format, q.type.block_size),
                                config.weight_format.name,
                                Blocks(config.scale_format, config.block_size)));
    }
    if (!q.scales.empty()) return ToHost("weights have block scales of their own");
    if (q.axis != reduction_axis)
      return ToHost("weights have block scales along another axis than the reduction");
    w.codec_ = std::make_shared<const BlockCodec>(q.type);
    w.unit_ = UnitOf(config.weight_format, config);
    return w;
  }
  if (!q.scales.empty()) w.scales_ = q.scales;
  w.zero_points_ = q.zero_points;
  w.zero_points_.resize(w.scales_.size(), 0);
  if (w.scales_.size() != 1) {
    const Shape& shape = value.shape();
    if (q.axis < 0 || q.axis >= shape.rank() || shape[q.axis] != std::ssize(w.scales_)) {
      return ToHost("weights have scales along something else than one axis");
    }
    w.channel_stride_ = RowMajorStrides(shape)[static_cast<size_t>(q.axis)];
    w.channels_ = shape[q.axis];
  }
  for (float scale : w.scales_) w.inverse_.push_back(InverseScale(scale));
  // Integers are codes of any integer array that holds them; whatever else must be the array's own format.
  w.whole_ = w.format_.is_integer() && w.format_.rounding == Rounding::kNearestEven &&
             w.format_.overflow == Overflow::kSaturate;
  if (w.whole_ && config.weight_format.is_integer()) {
    w.range_ = CodesOf(w.format_, q.type.symmetric);
    for (size_t i = 0; i < w.scales_.size(); ++i) {  // of a code, not of the value of a code
      w.inverse_[i] = InverseScale(std::ldexp(w.scales_[i], -w.format_.fraction_bits));
    }
    w.unit_ = std::ldexp(1.0, -w.format_.fraction_bits) / CountOf(config.weight_format, config);
    KILN_RETURN_IF_ERROR(w.CheckCodes(w.format_, config));
    return w;
  }
  w.whole_ = false;
  const bool has_zero_point = std::any_of(w.zero_points_.begin(), w.zero_points_.end(),
                                          [](int32_t zero) { return zero != 0; });
  if (w.format_ != config.weight_format || has_zero_point) {
    return ToHost(fmt::format("weights are {}, the array takes {}", w.format_.name,
                              config.weight_format.name));
  }
  w.unit_ = UnitOf(config.weight_format, config);
  return w;
}

// Any integer format will do whose codes, less their zero points, the array's element holds: int2 on an array of int8,
// or uint8 around 128. Only for zero points or a wider format do the codes themselves decide.
Status ConstantWeights::CheckCodes(const Format& format, const Config& config) const {
  const bool has_zero_point =
      std::any_of(zero_points_.begin(), zero_points_.end(), [](int32_t zero) { return zero != 0; });
  const int64_t least = config.weight_format.min_code(), greatest = config.weight_format.max_code();
  if (!has_zero_point && range_.low >= least && range_.high <= greatest) return OkStatus();
  for (int64_t i = 0; i < std::ssize(values_); ++i) {
    const int64_t code = WholeCode(i);
    if (code < least || code > greatest) {
      return ToHost(fmt::format("weights are {} with codes that do not fit the array's {}",
                                format.name, config.weight_format.name));
    }
  }
  return OkStatus();
}

uint32_t ConstantWeights::Code(int64_t element) const {
  if (whole_) return static_cast<uint32_t>(WholeCode(element));
  const float scaled = values_[static_cast<size_t>(element)] * inverse_[ScaleIndex(element)];
  return MemoryBits(array_format_, EncodeFloat(array_format_, scaled));
}

std::shared_ptr<const WeightCodes> ConstantWeights::Codes(int64_t batches, int64_t taps,
                                                          int64_t channels, int64_t columns,
                                                          const Element& element) const {
  auto out = std::make_shared<WeightCodes>();
  out->batches = batches;
  out->rows = taps * channels;
  out->columns = columns;
  out->channels = channels;
  out->bytes = array_format_.bytes();
  out->codes.resize(static_cast<size_t>(batches * out->rows * columns * out->bytes));
  const auto put = [&](int64_t batch, int64_t row, int64_t column, uint32_t code) {
    const int64_t at = (batch * out->rows + row) * columns + column;
    StoreBits(code, out->bytes, out->codes.data() + at * out->bytes);
  };
  if (blocked()) {
    out->block_size = codec_->block_size();
    out->scale_bytes = codec_->scale_format().bytes();
    out->scales.resize(
        static_cast<size_t>(batches * taps * out->blocks() * columns * out->scale_bytes));
  }
  std::vector<float> block;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t n = 0; n < columns; ++n) {
      for (int64_t t = 0; t < taps; ++t) {
        if (!blocked()) {
          for (int64_t c = 0; c < channels; ++c)
            put(b, t * channels + c, n, Code(element(b, t, c, n)));
          continue;
        }
        for (int64_t first = 0; first < channels; first += out->block_size) {
          block.clear();
          const int64_t end = std::min(channels, first + out->block_size);
          for (int64_t c = first; c < end; ++c)
            block.push_back(values_[static_cast<size_t>(element(b, t, c, n))]);
          const uint32_t scale = codec_->ScaleCode(block.data(), std::ssize(block));
          for (int64_t c = first; c < end; ++c) {
            const float value = block[static_cast<size_t>(c - first)];
            put(b, t * channels + c, n,
                MemoryBits(array_format_, codec_->ElementCode(value, codec_->ScaleValue(scale))));
          }
          const int64_t at =
              ((b * taps + t) * out->blocks() + first / out->block_size) * columns + n;
          StoreBits(scale, out->scale_bytes, out->scales.data() + at * out->scale_bytes);
        }
      }
    }
  }
  return out;
}

}  // namespace kiln::systolic
