// Streams outputs and codes into the arrays of an NpzWriter.
#include "kiln/flow/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kiln/frontend/array_names.h"
#include "kiln/ir/text.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns the tensor in a type that NumPy has: bf16 becomes f32, all others are unchanged.
Tensor AsNumPyHasIt(const Tensor& tensor) {
  if (tensor.type() != ElementType::kBfloat16) return tensor;
  Tensor wide(ElementType::kFloat32, tensor.shape());
  const auto from = tensor.data<uint16_t>();
  std::transform(from.begin(), from.end(), wide.data<float>().begin(), Bfloat16ToFloat);
  return wide;
}

// Returns the shape with another number of images.
Shape WithImages(Shape shape, int64_t images) {
  shape[0] = images;
  return shape;
}

// Returns whether single images of the two shapes have the same shape.
bool IsAlike(const Shape& a, const Shape& b) { return WithImages(a, 1) == WithImages(b, 1); }

// Returns the bytes of a tensor.
std::span<const std::byte> BytesOf(const Tensor& tensor) {
  return {tensor.bytes(), static_cast<size_t>(tensor.num_bytes())};
}

// Returns the shape of an array of parameters: a scalar for a single one, else a list.
Shape ParameterShape(size_t count) {
  return count == 1 ? Shape{} : Shape{static_cast<int64_t>(count)};
}

}  // namespace

Status OutputsFile::Describe(const Graph& network, const Graph* quantised) {
  outputs_.clear();
  for (size_t i = 0; i < network.outputs().size(); ++i) {
    const Value& value = *network.outputs()[i];
    if (value.element() == ElementType::kString) {
      return UnsupportedAt(network.source(), "output '" + value.name() + "'", "holds strings",
                           "--outputs writes numbers");
    }
    Output output;
    output.name = value.name();
    output.array = ArrayNameOf(value.name());
    if (!HasKnownShape(&value) && value.has_shape()) output.rank = value.shape().rank();
    if (codes_ && quantised != nullptr)
      output.quantisation = quantised->outputs()[i]->quantisation();
    // A value that is an output twice is written once.
    const bool again = std::any_of(outputs_.begin(), outputs_.end(),
                                   [&](const Output& o) { return o.array == output.array; });
    if (again) output.array.clear();
    outputs_.push_back(std::move(output));
  }
  return OkStatus();
}

Status OutputsFile::Begin(Output& output, const Tensor& values, const Tensor* codes,
                          int64_t total) {
  const Shape shape = WithImages(values.shape(), total);
  output.first = values.shape();
  KILN_ASSIGN_OR_RETURN(output.values, writer_.Add(output.array, values.type(), shape));
  output.described = {output.name, output.array, std::string(NameOf(values.type())), shape.dims(),
                      ""};
  if (codes == nullptr || !output.quantisation.has_value() ||
      codes->type() == ElementType::kFloat32)
    return OkStatus();
  const Quantisation& q = *output.quantisation;
  output.described.quantisation = PrintQuantisation(q);
  output.first_codes = codes->shape();
  KILN_ASSIGN_OR_RETURN(output.codes, writer_.Add(output.array + ".codes", codes->type(),
                                                  WithImages(codes->shape(), total)));
  return AddScales(output);
}

Status OutputsFile::AddScales(const Output& output) {
  const Quantisation& q = *output.quantisation;
  if (!q.scales.empty()) {
    KILN_RETURN_IF_ERROR(writer_.AddTensor(
        output.array + ".scale", Tensor::Of<float>(ParameterShape(q.scales.size()), q.scales)));
  }
  if (q.zero_points.empty()) return OkStatus();
  return writer_.AddTensor(
      output.array + ".zero_point",
      Tensor::Of<int32_t>(ParameterShape(q.zero_points.size()), q.zero_points));
}

Status OutputsFile::AddImage(Output& output, const Tensor& values, const Tensor* codes) {
  // Removes the axis of images if joining has added one.
  const auto of_image = [&](const Tensor& tensor) {
    if (tensor.shape().rank() <= output.rank) return tensor;
    return tensor.Reshaped(Shape(
        std::vector<int64_t>(tensor.shape().dims().begin() + 1, tensor.shape().dims().end())));
  };
  const std::string array = fmt::format("{}.{}", output.array, output.images);
  KILN_RETURN_IF_ERROR(writer_.AddTensor(array, of_image(values)));
  const bool coded =
      codes != nullptr && output.quantisation.has_value() && codes->type() != ElementType::kFloat32;
  if (coded) KILN_RETURN_IF_ERROR(writer_.AddTensor(array + ".codes", of_image(*codes)));
  if (output.images++ > 0) return OkStatus();
  output.described = {output.name, output.array + ".IMAGE", std::string(NameOf(values.type())),
                      std::vector<int64_t>(static_cast<size_t>(output.rank), kUnknownDim), ""};
  if (!coded) return OkStatus();
  output.described.quantisation = PrintQuantisation(*output.quantisation);
  return AddScales(output);
}

Status OutputsFile::Add(std::span<const Tensor> outputs, std::span<const Tensor> codes,
                        int64_t total) {
  KILN_CHECK(outputs.size() == outputs_.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& output = outputs_[i];
    if (output.array.empty()) continue;
    const Tensor values = AsNumPyHasIt(outputs[i]);
    const Tensor* own_codes = i < codes.size() ? &codes[i] : nullptr;
    if (output.rank >= 0) {
      KILN_RETURN_IF_ERROR(AddImage(output, values, own_codes));
      continue;
    }
    if (!output.values.has_value()) KILN_RETURN_IF_ERROR(Begin(output, values, own_codes, total));
    const bool alike =
        IsAlike(output.first, values.shape()) &&
        (!output.codes.has_value() || IsAlike(output.first_codes, own_codes->shape()));
    if (!alike) {
      return ErrorAt(
          path_.string(), fmt::format("output '{}'", output.name),
          fmt::format("from image {} on is {}, another shape than {} of the images before",
                      output.images, WithImages(values.shape(), 1).ToString(),
                      WithImages(output.first, 1).ToString()),
          "an array has one shape: run these images by themselves, or without --outputs");
    }
    output.images += values.shape()[0];
    KILN_RETURN_IF_ERROR(writer_.Append(*output.values, BytesOf(values)));
    if (output.codes.has_value())
      KILN_RETURN_IF_ERROR(writer_.Append(*output.codes, BytesOf(*own_codes)));
  }
  return OkStatus();
}

Status OutputsFile::Finish() { return writer_.Finish(); }

void OutputsFile::Report(RunReport* report) const {
  report->outputs_file = path_.string();
  for (const Output& output : outputs_) {
    if (output.images == 0) continue;
    report->written.push_back(output.described);
    if (codes_ && output.described.quantisation.empty()) {
      report->notes.push_back(
          fmt::format("output '{}' is not quantised and has no codes", output.name));
    }
  }
}

}  // namespace kiln
