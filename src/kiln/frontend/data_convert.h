// Converts stored images to the fp32 tensors that a network takes: the last step between a data set
// (data_set.h) and calibration, evaluation or a run.
#ifndef KILN_FRONTEND_DATA_CONVERT_H_
#define KILN_FRONTEND_DATA_CONVERT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/data_preprocess.h"
#include "kiln/frontend/data_set.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// Converts the images of one data set to inputs of one network: preprocessing (data_preprocess.h),
// element type to fp32, dimensions to the network's order (NCHW). Refers to the data set, which
// must outlive it. Thread-safe.
class ImageConverter {
 public:
  // Creates a converter for an image input of a network: fp32, all dimensions but the first known.
  // An image fits if its dimensions after resize and crop (channels first) equal the input's after
  // the batch, up to dimensions of 1, or if the input takes a flat vector of as many elements.
  //   errors  name the model and the data with both shapes; mean or std that do not match the
  //           channels; resize or crop of samples that have no height and width; resize of samples
  //           other than uint8. Images of a folder, whose sizes are not known yet, are checked when
  //           they are converted
  static StatusOr<ImageConverter> Create(const DataSet* set, Preprocess preprocess,
                                         const Value& input, std::string_view model_source);

  const DataSet& set() const { return *set_; }
  const Preprocess& preprocess() const { return preprocess_; }
  // Returns the elements of one converted image.
  int64_t elements_per_image() const { return channels_ * pixels_; }

  // Converts image i: channels first, row-major. Errors occur for images of a folder only: those of
  // DataSet::Load, and those of Create for this image.
  Status Convert(int64_t i, std::span<float> out) const;
  // Converts images [first, first + count) to fp32 [count, ...input dimensions]. Returns the error
  // of the first image that has one.
  StatusOr<Tensor> MakeBatch(int64_t first, int64_t count) const;

 private:
  ImageConverter() = default;
  // Returns the shape (channels first) of a stored image after resize and crop. Errors: those of
  // Create; `name` is the image's.
  StatusOr<Shape> FittingShape(const std::string& name, const Shape& image) const;
  // Returns a stored image after resize and crop, in the stored layout.
  std::vector<std::byte> ResizeAndCrop(std::span<const std::byte> image, ImageSize stored) const;
  const DataSet* set_ = nullptr;
  Preprocess preprocess_;
  std::string input_;  // "input 'x' of net.onnx", for messages
  Shape batch_shape_;
  Shape wanted_;  // of one image
  ImageLayout layout_ = ImageLayout::kChw;
  int64_t channels_ = 1;
  int64_t pixels_ = 0;             // per channel, after resize and crop
  bool channels_last_ = false;     // in the stored image
  std::vector<float> mean_, std_;  // one per channel
  std::vector<float>
      // For uint8 images only: the converted value of byte b in channel c is at [c * 256 + b]
      table_of_bytes_;
};

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_CONVERT_H_
