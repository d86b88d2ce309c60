// Reads stored samples as the tensors that one input of a network takes, for every element type.
// The commands that run a network use one reader per input.
#ifndef KILN_FRONTEND_DATA_INPUT_H_
#define KILN_FRONTEND_DATA_INPUT_H_

#include <memory>
#include <optional>
#include <string_view>

#include "kiln/frontend/data_convert.h"
#include "kiln/frontend/data_set.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// Returns the shape of one sample of a network's input: its declared shape, with 1 for an unknown
// leading dimension.
Shape SampleShape(const Value& input);

// Returns "input_ids i64 1x128", as messages and help describe an input.
std::string DescribeInput(const Value& input);

// Reads one data set as one input. Thread-safe.
class InputReader {
 public:
  // Reads images for an fp32 input: any numeric type, preprocessed by an ImageConverter.
  static StatusOr<InputReader> OfImages(std::shared_ptr<const DataSet> set, Preprocess preprocess,
                                        const Value& input, std::string_view model_source);
  // Reads values as they are stored. Their type must be the input's, or integers of a narrower type
  // all of whose values the input's type has; the shape of a sample must be the input's up to
  // dimensions of 1. Errors name the data and the model with both types or shapes.
  static StatusOr<InputReader> OfValues(std::shared_ptr<const DataSet> set, const Value& input,
                                        std::string_view model_source);

  const DataSet& set() const { return *set_; }
  // Returns samples [first, first + count): shape BatchShape(SampleShape(input), count), in the
  // input's type. Errors: those of ImageConverter::MakeBatch.
  StatusOr<Tensor> MakeBatch(int64_t first, int64_t count) const;

 private:
  InputReader() = default;
  std::shared_ptr<const DataSet> set_;
  // Absent for values that are read as they are stored.
  std::optional<ImageConverter> images_;
  Shape sample_;
  ElementType element_ = ElementType::kFloat32;  // of the input; of values that are read as stored
};

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_INPUT_H_
