// What is done to a stored image before a network reads it, resizing, cropping and arithmetic, and
// its textual form in models, options and YAML files.
#ifndef KILN_FRONTEND_DATA_PREPROCESS_H_
#define KILN_FRONTEND_DATA_PREPROCESS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/data_set.h"
#include "kiln/frontend/image_resize.h"
#include "kiln/support/status.h"

namespace kiln {

// The preprocessing of an image: it is resized, then cropped (image_resize.h), and then an element
// of channel c becomes, each step rounded to fp32, to nearest even, in this order:
//   y = ((x * multiply / divide) - mean[c]) / std[c]
// In text: "resize=256,crop=224,scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225" with
// further keys interpolation=bicubic, layout=hwc and channels=bgr; every key is optional, and their
// order has no meaning. A number may be an expression of numbers with + - * / in their usual
// precedence (mean=127.5/128), evaluated in binary64 and rounded once to fp32. A scale that is a
// single fraction, such as 1/255, divides by 255 instead of multiplying by a rounded reciprocal, as
// common training scripts do.
struct Preprocess {
  // The size to resize to: `resize=256` makes the shorter side 256 pixels (the width is 0 here),
  // and `resize=240x320` makes the image 240 pixels high and 320 wide.
  std::optional<ImageSize> resize = {};
  Interpolation interpolation = Interpolation::kBilinear;
  // The size to cut out of the centre: `crop=224` is 224x224.
  std::optional<ImageSize> crop = {};
  float multiply = 1;
  float divide = 1;
  std::vector<float> mean = {};  // empty, one for all channels, or one per channel
  std::vector<float> std = {};   // the same; not 0
  // The layout of the stored images. If not set, the kind of data file decides.
  std::optional<ImageLayout> layout = {};
  // `channels=bgr`: the network takes blue, green, red, and the images are stored as red, green,
  // blue. mean and std are in the network's order. Images must have three channels.
  bool reverse_channels = false;

  // Returns true if images are passed on unchanged.
  bool IsIdentity() const { return *this == Preprocess{}; }
  // Returns true if elements keep their values.
  bool KeepsValues() const { return multiply == 1 && divide == 1 && mean.empty() && std.empty(); }
  // Return the size that an image has after `resize`, and after `resize` and `crop`. The sides of
  // `stored` are at least 1.
  ImageSize ResizedSize(ImageSize stored) const;
  ImageSize ResultSize(ImageSize stored) const;
  std::string ToString() const;  // ParsePreprocess reads it back; "none" for the identity
  friend bool operator==(const Preprocess&, const Preprocess&) = default;
};

// Parses the textual form. Keys that the text does not name keep the values of `base`, or, after a
// leading "none" (alone, or as in "none,scale=1/255"), those of the identity. `source` and `place`
// name the text's origin in messages: ("net.onnx", "metadata 'kiln.preprocess'"). Errors: an
// unknown key, a value that is not a number, a std of 0, a size beyond the budget.
StatusOr<Preprocess> ParsePreprocess(std::string_view text, std::string_view source,
                                     std::string_view place, const Preprocess& base = {});

// Loads a YAML file with the same keys; mean and std are lists.
StatusOr<Preprocess> LoadPreprocess(const std::filesystem::path& path, const Preprocess& base = {});

// The key in a model's metadata that holds the textual form.
inline constexpr std::string_view kPreprocessMetadataKey = "kiln.preprocess";

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_PREPROCESS_H_
