// Implements codes.h: splits a tensor into runs that share a scale and converts each run with the
// scalar and vector code of the numerics room.
#include "kiln/execute/codes.h"

#include <algorithm>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/numerics/quantise.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/check.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

constexpr int64_t kElementsAPiece = int64_t{1} << 16;  // that one thread converts at a time

// Returns the number of elements between two neighbours along `axis`: the product of the dimensions
// after it.
int64_t ElementsBehind(const Shape& shape, int axis) {
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  return inner;
}

// A stretch of consecutive elements [begin, end) that share one scale and zero point.
struct Run {
  int64_t begin, end;
  float scale;
  int32_t zero_point;
};

// Calls visit(run) for runs that cover the whole tensor in memory order. Without a scheme the
// tensor is one run with scale 1.
// Example: per channel on axis 1 of [2, 3, 4] gives six runs of 4 elements, with scales 0 1 2 0 1
// 2.
template <typename Visit>
void ForEachRun(const Shape& shape, const Quantisation& q, const Visit& visit) {
  const int64_t size = shape.NumElements();
  if (q.type.scheme == Scheme::kNone) return visit(Run{0, size, 1, 0});
  KILN_CHECK(!q.scales.empty() && q.scales.size() == q.zero_points.size());
  // Calls visit for elements [begin, end) with scale number `scale`.
  const auto run = [&](int64_t begin, int64_t end, int64_t scale) {
    visit(Run{begin, end, q.scales[static_cast<size_t>(scale)],
              q.zero_points[static_cast<size_t>(scale)]});
  };
  if (q.axis < 0) {
    KILN_CHECK(q.scales.size() == 1);
    return run(0, size, 0);
  }
  KILN_CHECK(q.axis < shape.rank());
  const int64_t length = shape[q.axis], inner = ElementsBehind(shape, q.axis);
  if (size == 0) return;
  if (q.type.scheme == Scheme::kPerChannel) {
    KILN_CHECK(length == std::ssize(q.scales));
    for (int64_t begin = 0; begin < size; begin += inner)
      run(begin, begin + inner, begin / inner % length);
    return;
  }
  // Scales have the shape of ScaleShape: the blocked axis counts blocks.
  const int64_t block = q.type.block_size, blocks = (length + block - 1) / block;
  KILN_CHECK(size / length * blocks == std::ssize(q.scales));
  // Blocks lie along q.axis. On the innermost axis (inner == 1) the elements of a block are
  // contiguous and form one run; on any other axis they are `inner` elements apart, so each element
  // is a run of its own.
  for (int64_t line = 0; line < size / length / inner; ++line) {
    for (int64_t along = 0; along < length; along += inner > 1 ? 1 : block) {
      const int64_t first = (line * length + along) * inner;
      const int64_t scale = (line * blocks + along / block) * inner;
      if (inner == 1) {
        run(first, first + std::min(block, length - along), scale);
      } else {
        for (int64_t i = 0; i < inner; ++i) run(first + i, first + i + 1, scale + i);
      }
    }
  }
}

// Calls visit with the codes as a span of their C++ type.
template <typename CodeTensor, typename Visit>
void VisitCodes(CodeTensor& codes, const Visit& visit) {
  switch (codes.type()) {
    case ElementType::kInt8:
      return visit(codes.template data<int8_t>());
    case ElementType::kUint8:
      return visit(codes.template data<uint8_t>());
    case ElementType::kInt16:
      return visit(codes.template data<int16_t>());
    case ElementType::kUint16:
      return visit(codes.template data<uint16_t>());
    case ElementType::kInt32:
      return visit(codes.template data<int32_t>());
    case ElementType::kUint32:
      return visit(codes.template data<uint32_t>());
    default:
      KILN_CHECK(false && "codes are integers of at most 32 bits");
  }
}

// Returns true for whole-number formats that numerics/quantise.h converts directly: round to
// nearest even, saturating.
bool IsPlainInteger(const Format& format) {
  return format.is_whole() && format.rounding == Rounding::kNearestEven &&
         format.overflow == Overflow::kSaturate;
}

// Adds the zero point to a code of a whole-number format and applies the format's overflow rule:
// saturates, or wraps to the format's bits.
int64_t MoveByZeroPoint(const Format& format, int64_t code, int32_t zero_point) {
  const int64_t moved = code + zero_point;
  if (format.overflow != Overflow::kWrap)
    return std::clamp(moved, format.min_code(), format.max_code());
  return SignedCode(format, static_cast<uint32_t>(moved) & CodeMask(format));
}

// Encodes one run through codec.h: multiplies by the inverse scale (one rounding to fp32), encodes,
// then adds the zero point. The element's index seeds stochastic rounding, so the bits do not
// depend on how the tensor is split into runs.
void EncodeRun(const Run& run, const Format& format, std::span<const float> values, Tensor& codes) {
  const auto first = static_cast<size_t>(run.begin),
             count = static_cast<size_t>(run.end - run.begin);
  std::vector<float> scaled(values.begin() + run.begin, values.begin() + run.end);
  if (run.scale != 1) {
    const float inverse = InverseScale(run.scale);
    for (float& x : scaled) x *= inverse;
  }
  std::byte* to = codes.mutable_bytes() + run.begin * format.bytes();
  EncodeValues(format, scaled.data(), static_cast<int64_t>(count), to,
               static_cast<uint64_t>(run.begin));
  if (run.zero_point == 0) return;
  VisitCodes(codes, [&](auto all) {
    using Code = typename decltype(all)::element_type;
    for (Code& code : all.subspan(first, count)) {
      code = static_cast<Code>(MoveByZeroPoint(format, static_cast<int64_t>(code), run.zero_point));
    }
  });
}

// Encodes one run of a plain integer format; scaling, rounding, zero point and saturation are those
// of QuantiseToCode.
void EncodePlainRun(const Run& run, CodeRange range, std::span<const float> values, Tensor& codes) {
  const float inverse = InverseScale(run.scale);
  VisitCodes(codes, [&](auto to) {
    using Code = typename decltype(to)::element_type;
    for (auto i = static_cast<size_t>(run.begin); i < static_cast<size_t>(run.end); ++i) {
      to[i] = static_cast<Code>(QuantiseToCode(values[i], inverse, run.zero_point, range));
    }
  });
}

// Converts as QuantiseToCode does, for formats of at most 16 bits, in operations that the compiler
// vectorises. It clamps the value first, to bounds that fp32 represents exactly. Adding and
// subtracting 1.5 * 2^23 then rounds the value to nearest even.
class NarrowCode {
 public:
  static constexpr float kMost = 0x1p22f;  // greatest magnitude that the addition rounds

  // Returns whether every code of `range` less the zero point is within kMost.
  static bool Fits(CodeRange range, int32_t zero_point) {
    const auto most = static_cast<int64_t>(kMost);
    return range.low - zero_point >= -most && range.high - zero_point <= most;
  }
  NarrowCode(float scale, int32_t zero_point, CodeRange range)
      : inverse_(InverseScale(scale)),
        low_(static_cast<float>(range.low - zero_point)),
        high_(static_cast<float>(range.high - zero_point)),
        zero_point_(zero_point) {}

  int32_t Of(float value) const {
    float x = value * inverse_;
    x = x == x ? x : 0.0f;  // NaN becomes the zero point
    x = x < low_ ? low_ : x;
    x = x > high_ ? high_ : x;
    constexpr float kRound = 0x1.8p23f;
    return static_cast<int32_t>((x + kRound) - kRound) + zero_point_;
  }

 private:
  float inverse_, low_, high_;
  int32_t zero_point_;
};

// Encodes a tensor with one scale, or one for each index of an axis, in a plain integer format.
template <typename Code>
void EncodeNarrow(std::span<const float> values, int64_t length, int64_t inner,
                  std::span<const NarrowCode> channels, Code* to) {
  ParallelFor(std::ssize(values), kElementsAPiece, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t channel = begin / inner % length;
      if (inner == 1) {  // each element has the next channel
        const int64_t count = std::min(length - channel, end - begin);
        for (int64_t i = 0; i < count; ++i) {
          to[begin + i] = static_cast<Code>(channels[static_cast<size_t>(channel + i)].Of(
              values[static_cast<size_t>(begin + i)]));
        }
        begin += count;
      } else {
        const NarrowCode code = channels[static_cast<size_t>(channel)];
        const int64_t stop = std::min(end, (begin / inner + 1) * inner);
        for (; begin < stop; ++begin)
          to[begin] = static_cast<Code>(code.Of(values[static_cast<size_t>(begin)]));
      }
    }
  });
}

// Encodes a tensor as EncodeNarrow does if its annotation allows it; returns whether it did.
bool EncodeIfNarrow(const Quantisation& q, CodeRange range, const Tensor& values, Tensor& codes) {
  if (codes.size() == 0 || SizeOf(codes.type()) > 2 || q.type.scheme == Scheme::kPerBlock)
    return false;
  std::vector<NarrowCode> channels;
  int64_t length = 1, inner = values.size();
  if (q.type.scheme == Scheme::kNone) {
    channels.emplace_back(1.0f, 0, range);
  } else {
    if (q.axis >= 0) {
      length = values.shape()[q.axis];
      inner = ElementsBehind(values.shape(), q.axis);
    }
    KILN_CHECK(length == std::ssize(q.scales) && q.scales.size() == q.zero_points.size());
    for (size_t i = 0; i < q.scales.size(); ++i) {
      if (!NarrowCode::Fits(range, q.zero_points[i])) return false;
      channels.emplace_back(q.scales[i], q.zero_points[i], range);
    }
  }
  VisitCodes(codes, [&](auto to) {
    EncodeNarrow(values.data<float>(), length, inner, channels, to.data());
  });
  return true;
}

// Copies between a tensor's memory order and lines: an order in which `axis` is innermost, so that
// the elements of a line are contiguous.
class Lines {
 public:
  Lines(const Shape& shape, int axis) : length_(shape[axis]), inner_(ElementsBehind(shape, axis)) {}
  int64_t length() const { return length_; }
  // Returns true if the elements of a line are not contiguous in the tensor and must be gathered.
  bool stand_apart() const { return inner_ > 1; }

  // Gather copies items of `width` bytes from memory order to line order, Scatter the other way.
  // `count` is the total number of items and `length` the number per line: elements, or the scales
  // of the blocks (fewer per line than the shape's axis).
  void Gather(const std::byte* from, int64_t count, int64_t length, int width,
              std::byte* to) const {
    Move(from, count, length, width, to, true);
  }
  void Scatter(const std::byte* from, int64_t count, int64_t length, int width,
               std::byte* to) const {
    Move(from, count, length, width, to, false);
  }

 private:
  void Move(const std::byte* from, int64_t count, int64_t length, int width, std::byte* to,
            bool gather) const {
    if (count == 0) return;
    for (int64_t outer = 0; outer < count / length / inner_; ++outer) {
      for (int64_t along = 0; along < length; ++along) {
        for (int64_t i = 0; i < inner_; ++i) {
          const int64_t apart = ((outer * length + along) * inner_ + i) * width;
          const int64_t together = ((outer * inner_ + i) * length + along) * width;
          std::copy_n(from + (gather ? apart : together), width, to + (gather ? together : apart));
        }
      }
    }
  }
  int64_t length_, inner_;
};

// Returns the shape of the scales: the tensor's shape with the number of blocks on the blocked
// axis. The last block may be partial.
Shape ScaleShape(const Shape& shape, const Quantisation& q) {
  Shape scales = shape;
  scales[q.axis] = (shape[q.axis] + q.type.block_size - 1) / q.type.block_size;
  return scales;
}

// Returns true if the scale of each block is computed from the block's elements (microscaling)
// rather than given by the annotation.
bool IsBlockedByRule(const Quantisation& q) {
  return q.type.scheme == Scheme::kPerBlock && q.scales.empty();
}

}  // namespace

ElementType CodeElementType(const Format& format) {
  const bool is_signed = format.is_integer() && format.is_signed;
  switch (format.bytes()) {
    case 1:
      return is_signed ? ElementType::kInt8 : ElementType::kUint8;
    case 2:
      return is_signed ? ElementType::kInt16 : ElementType::kUint16;
    default:
      return is_signed ? ElementType::kInt32 : ElementType::kUint32;
  }
}

template <typename Integer>
Tensor TensorOfCodes(const Format& format, const Shape& shape, std::span<const Integer> codes) {
  Tensor tensor(CodeElementType(format), shape);
  KILN_CHECK(std::ssize(codes) == tensor.size());
  VisitCodes(tensor, [&](auto to) {
    using Code = typename decltype(to)::value_type;
    std::ranges::transform(codes, to.begin(), [](Integer code) { return static_cast<Code>(code); });
  });
  return tensor;
}
template Tensor TensorOfCodes(const Format&, const Shape&, std::span<const int32_t>);
template Tensor TensorOfCodes(const Format&, const Shape&, std::span<const int64_t>);

Tensor QuantiseTensor(const Tensor& values, const Quantisation& q) {
  KILN_CHECK(!IsBlockedByRule(q));
  const Format& format = q.type.format;
  Tensor codes(CodeElementType(format), values.shape());
  const std::span<const float> from = values.data<float>();
  const bool plain = IsPlainInteger(format);
  const CodeRange range = plain ? CodesOf(format, q.type.symmetric) : CodeRange{};
  if (plain && EncodeIfNarrow(q, range, values, codes)) return codes;
  ForEachRun(values.shape(), q, [&](const Run& run) {
    if (plain) {
      EncodePlainRun(run, range, from, codes);
    } else {
      EncodeRun(run, format, from, codes);
    }
  });
  return codes;
}

Tensor DequantiseTensor(const Tensor& codes, const Quantisation& q) {
  const Format& format = q.type.format;
  KILN_CHECK(codes.type() == CodeElementType(format) && !IsBlockedByRule(q));
  Tensor values(ElementType::kFloat32, codes.shape());
  const std::span<float> to = values.data<float>();
  if (format.is_whole()) {
    VisitCodes(codes, [&](auto from) {
      ForEachRun(codes.shape(), q, [&](const Run& run) {
        for (auto i = static_cast<size_t>(run.begin); i < static_cast<size_t>(run.end); ++i) {
          to[i] = DequantiseCode(static_cast<int64_t>(from[i]), run.scale, run.zero_point);
        }
      });
    });
    return values;
  }
  DecodeCodes(format, codes.bytes(), codes.size(), to.data());
  if (q.type.scheme == Scheme::kNone) return values;
  ForEachRun(codes.shape(), q, [&](const Run& run) {
    for (auto i = static_cast<size_t>(run.begin); i < static_cast<size_t>(run.end); ++i)
      to[i] *= run.scale;
  });
  return values;
}

BlockCodes QuantiseBlocks(const Tensor& values, const Quantisation& q) {
  KILN_CHECK(IsBlockedByRule(q) && q.axis >= 0 && q.axis < values.shape().rank());
  const BlockCodec codec(q.type);
  const Format &format = q.type.format, &scale_format = q.type.scale_format;
  BlockCodes blocks{Tensor(CodeElementType(format), values.shape()),
                    Tensor(CodeElementType(scale_format), ScaleShape(values.shape(), q))};
  if (values.size() == 0) return blocks;
  const Lines lines(values.shape(), q.axis);
  const int64_t rows = values.size() / lines.length();
  std::byte *codes = blocks.codes.mutable_bytes(), *scales = blocks.scales.mutable_bytes();
  // Lines on the innermost axis are contiguous already, so the codec reads the tensor in place.
  if (!lines.stand_apart()) {
    codec.Encode(values.data<float>().data(), rows, lines.length(), codes, scales);
    return blocks;
  }
  std::vector<float> gathered(static_cast<size_t>(values.size()));
  // Any other axis: gather the lines, encode them, and scatter codes and scales back to memory
  // order.
  std::vector<std::byte> line_codes(static_cast<size_t>(blocks.codes.num_bytes()));
  std::vector<std::byte> line_scales(static_cast<size_t>(blocks.scales.num_bytes()));
  lines.Gather(values.bytes(), values.size(), lines.length(), sizeof(float),
               reinterpret_cast<std::byte*>(gathered.data()));
  codec.Encode(gathered.data(), rows, lines.length(), line_codes.data(), line_scales.data());
  lines.Scatter(line_codes.data(), values.size(), lines.length(), format.bytes(), codes);
  lines.Scatter(line_scales.data(), blocks.scales.size(), codec.BlocksOf(lines.length()),
                scale_format.bytes(), scales);
  return blocks;
}

Tensor DequantiseBlocks(const BlockCodes& blocks, const Quantisation& q) {
  const BlockCodec codec(q.type);
  const Shape& shape = blocks.codes.shape();
  Tensor values(ElementType::kFloat32, shape);
  if (values.size() == 0) return values;
  const Lines lines(shape, q.axis);
  const int64_t rows = values.size() / lines.length();
  if (!lines.stand_apart()) {
    codec.Decode(blocks.codes.bytes(), blocks.scales.bytes(), rows, lines.length(),
                 values.data<float>().data());
    return values;
  }
  // The reverse of QuantiseBlocks: gather codes and scales into lines, decode, scatter the values.
  std::vector<std::byte> codes(static_cast<size_t>(blocks.codes.num_bytes()));
  std::vector<std::byte> scales(static_cast<size_t>(blocks.scales.num_bytes()));
  std::vector<float> gathered(static_cast<size_t>(values.size()));
  lines.Gather(blocks.codes.bytes(), values.size(), lines.length(), q.type.format.bytes(),
               codes.data());
  lines.Gather(blocks.scales.bytes(), blocks.scales.size(), codec.BlocksOf(lines.length()),
               q.type.scale_format.bytes(), scales.data());
  codec.Decode(codes.data(), scales.data(), rows, lines.length(), gathered.data());
  lines.Scatter(reinterpret_cast<const std::byte*>(gathered.data()), values.size(), lines.length(),
                sizeof(float), values.mutable_bytes());
  return values;
}

Tensor EncodeTensor(const Tensor& values, const Quantisation& q) {
  return IsBlockedByRule(q) ? QuantiseBlocks(values, q).codes : QuantiseTensor(values, q);
}

Tensor RoundTensor(const Tensor& values, const Quantisation& q) {
  if (IsBlockedByRule(q)) return DequantiseBlocks(QuantiseBlocks(values, q), q);
  return DequantiseTensor(QuantiseTensor(values, q), q);
}

Quantisation PerTensorQuantisation(double low, double high, const QuantType& type) {
  const ScaleZeroPoint chosen = ChooseScale(low, high, type);
  return {.type = type, .axis = -1, .scales = {chosen.scale}, .zero_points = {chosen.zero_point}};
}

}  // namespace kiln
