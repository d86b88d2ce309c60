// From stored samples to the tensors that one input of a network takes, whatever its element type.
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

// The shape of one sample of a network's input: its declared shape, an unknown leading dimension being 1.
Shape SampleShape(const Value& input);

// "input_ids i64 1x128": how messages and help name what a network takes.
std::string DescribeInput(const Value& input);

// One data set as one input. Thread-safe.
class InputReader {
 public:
  // Images for an fp32 input: any numeric type, preprocessed (ImageConverter).
  static StatusOr<InputReader> OfImages(std::shared_ptr<const DataSet> set, Preprocess preprocess,
                                        const Value& input, std::string_view model_source);
  // Values as they are stored: the type must be the input's, the samples' shape the input's up to dimensions of 1.
  // Errors name the data and the model with both types or shapes.
  static StatusOr<InputReader> OfValues(std::shared_ptr<const DataSet> set, const Value& input,
                                        std::string_view model_source);

  const DataSet& set() const { return *set_; }
  // Samples [first, first + count): BatchShape(SampleShape(input), count) in the input's type.
  Tensor MakeBatch(int64_t first, int64_t count) const;

 private:
  InputReader() = default;
  std::shared_ptr<const DataSet> set_;
  std::optional<ImageConverter> images_;
  Shape sample_;
};

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_INPUT_H_
