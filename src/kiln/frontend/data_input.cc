// Implements InputReader.
#include "kiln/frontend/data_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/batch_shape.h"
#include "kiln/ir/unit_axes.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

// Returns NumPy's name of a type, for messages; empty if NumPy lacks the type.
std::string_view NumPyName(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kFloat64:
      return "float64";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kInt8:
      return "int8";
    case ElementType::kInt16:
      return "int16";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kUint16:
      return "uint16";
    case ElementType::kUint32:
      return "uint32";
    case ElementType::kUint64:
      return "uint64";
    case ElementType::kBool:
      return "bool";
    case ElementType::kBfloat16:
    case ElementType::kString:
      break;
  }
  return "";
}

bool IsUnsigned(ElementType type) { return type >= ElementType::kUint8; }

// Returns whether `to` is an integer type that has every value of the integer type `from`.
bool Widens(ElementType from, ElementType to) {
  if (!IsInteger(from) || !IsInteger(to) || SizeOf(from) >= SizeOf(to)) return false;
  return IsUnsigned(from) || !IsUnsigned(to);
}

// Writes integers in a type that Widens accepts; returns the end of what it wrote.
std::byte* WidenIntegers(std::span<const std::byte> integers, ElementType from, ElementType to,
                         std::byte* out) {
  const auto size = static_cast<size_t>(SizeOf(from)), wide = static_cast<size_t>(SizeOf(to));
  for (; !integers.empty(); integers = integers.subspan(size)) {
    // Elements are little-endian: the last byte has the sign.
    const bool negative =
        !IsUnsigned(from) && (integers[size - 1] & std::byte{0x80}) != std::byte{};
    std::copy_n(integers.begin(), size, out);
    std::fill_n(out + size, wide - size, negative ? std::byte{0xff} : std::byte{0});
    out += wide;
  }
  return out;
}

}  // namespace

Shape SampleShape(const Value& input) {
  Shape shape = input.shape();
  if (shape.rank() > 0 && shape[0] == kUnknownDim) shape[0] = 1;
  return shape;
}

std::string DescribeInput(const Value& input) {
  return fmt::format("{} {} {}", input.name(), NameOf(input.element()),
                     input.has_shape() ? input.shape().ToString() : "of unknown shape");
}

// ImageConverter keeps a pointer to the set, which `set_` keeps alive.
StatusOr<InputReader> InputReader::OfImages(std::shared_ptr<const DataSet> set,
                                            Preprocess preprocess, const Value& input,
                                            std::string_view model_source) {
  InputReader reader;
  KILN_ASSIGN_OR_RETURN(reader.images_, ImageConverter::Create(set.get(), std::move(preprocess),
                                                               input, model_source));
  reader.set_ = std::move(set);
  return reader;
}

// Checks shape and type first, so that MakeBatch is a plain copy.
StatusOr<InputReader> InputReader::OfValues(std::shared_ptr<const DataSet> set, const Value& input,
                                            std::string_view model_source) {
  const std::string place =
      fmt::format("input {} of {}", QuotedExcerpt(input.name()), model_source);
  if (!input.has_shape() || !SampleShape(input).IsKnown()) {
    return UnsupportedAt(
        model_source, fmt::format("input {}", QuotedExcerpt(input.name())),
        fmt::format("has shape {}", input.has_shape() ? input.shape().ToString() : "unknown"),
        fmt::format("its dimensions must be known; --shape {}=... sets them", input.name()));
  }
  if (set->is_folder()) {
    return UnsupportedAt(model_source, fmt::format("input {}", QuotedExcerpt(input.name())),
                         fmt::format("is {}; {} holds images", DescribeInput(input), set->source()),
                         "images are read for one input of f32; store these samples as .npz");
  }
  if (set->element() != input.element() && !Widens(set->element(), input.element())) {
    const std::string_view name = NumPyName(input.element());
    return ErrorAt(set->source(), "",
                   fmt::format("holds {}; {} takes {}", NameOf(set->element()), place,
                               NameOf(input.element())),
                   name.empty() ? std::string("NumPy has no such type: cast it in the network")
                                : fmt::format("save it with .astype(numpy.{})", name));
  }
  InputReader reader;
  reader.sample_ = SampleShape(input);
  // Dimensions of 1 do not change the order of elements, so they may differ.
  if (WithoutOnes(set->image_shape().dims()) != WithoutOnes(reader.sample_.dims())) {
    std::vector<int64_t> all = set->image_shape().dims();
    all.insert(all.begin(), set->size());
    return ErrorAt(
        set->source(), "",
        fmt::format("is {}: {} samples of {}; {} takes {}", Shape(all).ToString(), set->size(),
                    set->image_shape().ToString(), place, reader.sample_.ToString()),
        fmt::format("for N samples {}", [&] {
          const Shape batch = BatchShape(reader.sample_, 1);
          std::string text = "N";
          for (int i = 1; i < batch.rank(); ++i) text += "x" + std::to_string(batch[i]);
          return text;
        }()));
  }
  reader.element_ = input.element();
  reader.set_ = std::move(set);
  return reader;
}

StatusOr<Tensor> InputReader::MakeBatch(int64_t first, int64_t count) const {
  if (images_.has_value()) return images_->MakeBatch(first, count);
  KILN_CHECK(first >= 0 && count >= 0 && first + count <= set_->size());
  Tensor batch(element_, BatchShape(sample_, count));
  std::byte* to = batch.mutable_bytes();
  for (int64_t i = first; i < first + count; ++i) {
    const std::span<const std::byte> sample = set_->Image(i);
    if (set_->element() == element_) {
      to = std::copy(sample.begin(), sample.end(), to);
    } else {
      to = WidenIntegers(sample, set_->element(), element_, to);
    }
  }
  if (set_->element() == ElementType::kBool) {  // a file may hold bytes other than 0 and 1
    std::byte* bytes = batch.mutable_bytes();
    for (int64_t i = 0; i < batch.size(); ++i) bytes[i] = std::byte{bytes[i] != std::byte{0}};
  }
  return batch;
}

}  // namespace kiln
