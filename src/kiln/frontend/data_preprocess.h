// What happens to a stored image before a network sees it.
#ifndef KILN_FRONTEND_DATA_PREPROCESS_H_
#define KILN_FRONTEND_DATA_PREPROCESS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/data_set.h"
#include "kiln/support/status.h"

namespace kiln {

// Per element of channel c, each step rounded to fp32 to nearest even, in this order:
//   y = ((x * multiply / divide) - mean[c]) / std[c]
// As text: "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,layout=hwc,channels=bgr"; every key may be left
// out. A number may be an expression of numbers with + - * / in their usual precedence (mean=127.5/128), computed in
// binary64 and rounded once to fp32. A scale that is one fraction, such as 1/255, divides by 255 instead of multiplying
// by a rounded reciprocal, as the usual training scripts do.
struct Preprocess {
  float multiply = 1;
  float divide = 1;
  std::vector<float> mean;  // none, one for all channels, or one per channel
  std::vector<float> std;   // the same; not 0
  // How the images are stored; unset: as the data file's own kind says.
  std::optional<ImageLayout> layout;
  // `channels=bgr`: the network takes blue, green, red, and the images are stored as red, green, blue. mean and std are
  // in the network's order. Only for images of three channels.
  bool reverse_channels = false;

  bool IsIdentity() const { return *this == Preprocess{}; }
  std::string ToString() const;  // reads back by ParsePreprocess; "none" for the identity
  friend bool operator==(const Preprocess&, const Preprocess&) = default;
};

// From text as above. Keys that it does not name are those of `base`, and after a leading "none" (alone, or as in
// "none,scale=1/255") those of the identity. `source` and `place` name its origin in messages: ("net.onnx", "metadata
// 'kiln.preprocess'"). Errors: an unknown key, no number, a std of 0.
StatusOr<Preprocess> ParsePreprocess(std::string_view text, std::string_view source,
                                     std::string_view place, const Preprocess& base = {});

// From a YAML file with the same keys; mean and std are lists.
StatusOr<Preprocess> LoadPreprocess(const std::filesystem::path& path, const Preprocess& base = {});

// The key in a model's metadata whose text ParsePreprocess reads.
inline constexpr std::string_view kPreprocessMetadataKey = "kiln.preprocess";

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_PREPROCESS_H_
