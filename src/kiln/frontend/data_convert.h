// From stored images to the tensors that a network takes.
#ifndef KILN_FRONTEND_DATA_CONVERT_H_
#define KILN_FRONTEND_DATA_CONVERT_H_

#include <span>
#include <string_view>

#include "kiln/frontend/data_preprocess.h"
#include "kiln/frontend/data_set.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// Turns images of one data set into inputs of one network: element type to fp32, preprocessing (data_preprocess.h),
// order of dimensions to the network's (NCHW). Holds on to the data set, which must outlive it. Thread-safe.
class ImageConverter {
 public:
  // `input`: the network's image input; fp32, all dimensions but the first known. A stored image fits when its
  // dimensions (channels first) equal the input's behind the batch, up to dimensions of 1, or when the input takes a
  // flat vector of as many elements. Errors name the model and the data with both shapes; or the mean, std that do
  // not match the channels.
  static StatusOr<ImageConverter> Create(const DataSet* set, Preprocess preprocess,
                                         const Value& input, std::string_view model_source);

  const DataSet& set() const { return *set_; }
  const Preprocess& preprocess() const { return preprocess_; }
  int64_t elements_per_image() const { return channels_ * pixels_; }

  // Image i, channels first, row-major.
  void Convert(int64_t i, std::span<float> out) const;
  // Images [first, first + count) as fp32 [count, ...input dimensions].
  Tensor MakeBatch(int64_t first, int64_t count) const;

 private:
  ImageConverter() = default;
  const DataSet* set_ = nullptr;
  Preprocess preprocess_;
  Shape batch_shape_;
  int64_t channels_ = 1;
  int64_t pixels_ = 0;             // per channel
  bool channels_last_ = false;     // in the stored image
  std::vector<float> mean_, std_;  // one per channel
  std::vector<float>
      table_of_bytes_;  // uint8 images: value of byte b in channel c at [c * 256 + b]
};

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_CONVERT_H_
