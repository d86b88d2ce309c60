// Implements data_preprocess.h: parses the textual and the YAML form of Preprocess and prints the
// former.
#include "kiln/frontend/data_preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/yaml.h"

namespace kiln {
namespace {

constexpr std::string_view kRemedy =
    "write it as scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,layout=chw";
constexpr std::string_view kKeys =
    "one of: resize, interpolation, crop, scale, mean, std, layout, channels";

// Removes blanks at both ends.
std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Returns the text as a finite number, nullopt if it is anything else.
std::optional<float> ParseNumber(std::string_view text) {
  text = Trim(text);
  float value = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || stop != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// Removes a number from the front of `text` and returns it.
std::optional<double> TakeNumber(std::string_view* text) {
  *text = Trim(*text);
  double value = 0;
  const auto [stop, fault] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (fault != std::errc() || !std::isfinite(value)) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(stop - text->data()));
  *text = Trim(*text);
  return value;
}

// Evaluates a sum of products of numbers such as "127.5/128" or "1 - 2*0.25". Returns nullopt if
// the text is not one, or if its value does not fit fp32.
std::optional<float> ParseExpression(std::string_view text) {
  if (const auto number = ParseNumber(text)) return number;  // rounded once, from decimal to fp32
  // A sum of products: products bind closer than sums, all from left to right.
  double sum = 0, sign = 1;
  while (true) {
    std::optional<double> product = TakeNumber(&text);
    while (product.has_value() && !text.empty() && (text.front() == '*' || text.front() == '/')) {
      const bool divides = text.front() == '/';
      text.remove_prefix(1);
      const std::optional<double> factor = TakeNumber(&text);
      if (!factor.has_value() || (divides && *factor == 0)) return std::nullopt;
      product = divides ? *product / *factor : *product * *factor;
    }
    if (!product.has_value()) return std::nullopt;
    sum += sign * *product;
    if (text.empty()) break;
    if (text.front() != '+' && text.front() != '-') return std::nullopt;
    sign = text.front() == '+' ? 1 : -1;
    text.remove_prefix(1);
  }
  const auto value = static_cast<float>(sum);
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

// Parses one side of an image: 1 to the budget.
std::optional<int64_t> ParseSide(std::string_view text) {
  int64_t side = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), side);
  if (fault != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  if (side < 1 || side > budgets::kImageSide) return std::nullopt;
  return side;
}

// Parses "256" as {256, 0} and "240x320" as {240, 320}.
std::optional<ImageSize> ParseSize(std::string_view text) {
  const size_t by = text.find('x');
  const std::optional<int64_t> height = ParseSide(text.substr(0, by));
  if (!height.has_value()) return std::nullopt;
  if (by == std::string_view::npos) return ImageSize{*height, 0};
  const std::optional<int64_t> width = ParseSide(text.substr(by + 1));
  if (!width.has_value()) return std::nullopt;
  return ImageSize{*height, *width};
}

// Splits text at a character and trims the parts.
std::vector<std::string> Split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.emplace_back(Trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Sets one key from its values in text form; mean and std may have several.
Status SetKey(std::string_view key, const std::vector<std::string>& values, std::string_view source,
              std::string_view place, Preprocess* out) {
  const auto bad = [&](std::string_view value, std::string_view why) {
    return ErrorAt(source, place, fmt::format("{} {} {}", key, QuotedExcerpt(value), why), kRemedy);
  };
  // All keys but mean and std take a single value.
  const std::string_view first =
      values.empty() ? std::string_view() : std::string_view(values.front());
  if (key != "mean" && key != "std" && values.size() != 1) return bad(first, "takes one value");
  if (key == "resize" || key == "crop") {
    std::optional<ImageSize> size = ParseSize(first);
    if (!size.has_value()) {
      return bad(first, fmt::format("is neither a number of pixels nor HEIGHTxWIDTH, of 1 to {}",
                                    budgets::kImageSide));
    }
    // One number is the shorter side for resize, and a square for crop.
    if (key == "crop" && size->width == 0) size->width = size->height;
    (key == "crop" ? out->crop : out->resize) = size;
  } else if (key == "interpolation") {
    if (first != "bilinear" && first != "bicubic")
      return bad(first, "is none of bilinear, bicubic");
    out->interpolation = first == "bicubic" ? Interpolation::kBicubic : Interpolation::kBilinear;
  } else if (key == "scale") {
    const size_t slash = first.find('/');
    std::optional<float> multiply = ParseNumber(first.substr(0, slash)), divide = 1.0f;
    if (slash != std::string_view::npos) divide = ParseNumber(first.substr(slash + 1));
    if (!multiply || !divide) {  // neither a number nor a single fraction
      multiply = ParseExpression(first);
      divide = 1.0f;
    }
    if (!multiply || *divide == 0)
      return bad(first, "is not a number, a fraction or an expression of numbers");
    if (*multiply == 0) return bad(first, "would make all images equal");
    out->multiply = *multiply;
    out->divide = *divide;
  } else if (key == "mean" || key == "std") {
    std::vector<float>& numbers = key == "mean" ? out->mean : out->std;
    numbers.clear();
    for (const std::string& value : values) {
      const auto number = ParseExpression(value);
      if (!number) return bad(value, "is not a number or an expression of numbers");
      if (key == "std" && *number == 0) return bad(value, "would divide by zero");
      numbers.push_back(*number);
    }
    if (numbers.empty()) return bad("", "has no value");
  } else if (key == "layout") {
    if (first != "chw" && first != "hwc") return bad(first, "is none of chw, hwc");
    out->layout = first == "chw" ? ImageLayout::kChw : ImageLayout::kHwc;
  } else if (key == "channels") {
    if (first != "rgb" && first != "bgr") return bad(first, "is none of rgb, bgr");
    out->reverse_channels = first == "bgr";
  } else {
    return ErrorAt(source, place, fmt::format("unknown key {}", QuotedExcerpt(key)), kKeys);
  }
  return OkStatus();
}

}  // namespace

ImageSize Preprocess::ResizedSize(ImageSize stored) const {
  if (!resize.has_value()) return stored;
  return resize->width == 0 ? ResizeShorterSide(stored, resize->height) : *resize;
}

ImageSize Preprocess::ResultSize(ImageSize stored) const {
  return crop.has_value() ? *crop : ResizedSize(stored);
}

// Prints only keys that differ from the identity; {} prints floats so that they parse to the same
// value.
std::string Preprocess::ToString() const {
  std::string out;
  const auto add = [&](std::string_view key, std::string_view value) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, value);
  };
  if (resize.has_value()) {
    add("resize", resize->width == 0 ? fmt::format("{}", resize->height)
                                     : fmt::format("{}x{}", resize->height, resize->width));
  }
  if (interpolation == Interpolation::kBicubic) add("interpolation", "bicubic");
  if (crop.has_value()) {
    add("crop", crop->height == crop->width ? fmt::format("{}", crop->height)
                                            : fmt::format("{}x{}", crop->height, crop->width));
  }
  if (multiply != 1 || divide != 1) {
    add("scale",
        divide == 1 ? fmt::format("{}", multiply) : fmt::format("{}/{}", multiply, divide));
  }
  if (!mean.empty()) add("mean", fmt::format("{}", fmt::join(mean, ":")));
  if (!std.empty()) add("std", fmt::format("{}", fmt::join(std, ":")));
  if (layout.has_value()) add("layout", NameOf(*layout));
  if (reverse_channels) add("channels", "bgr");
  return out.empty() ? "none" : out;
}

StatusOr<Preprocess> ParsePreprocess(std::string_view text, std::string_view source,
                                     std::string_view place, const Preprocess& base) {
  if (std::ssize(text) > budgets::kPreprocessBytes) {
    return ErrorAt(source, place, fmt::format("{} bytes are too many", text.size()),
                   fmt::format("at most {}", budgets::kPreprocessBytes));
  }
  std::vector<std::string> pairs = Split(Trim(text), ',');
  // A leading "none" starts from the identity instead of `base`.
  const bool bare = pairs.front() == "none";
  Preprocess out = bare ? Preprocess{} : base;
  if (bare) pairs.erase(pairs.begin());
  std::vector<std::string> seen;
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return ErrorAt(source, place, QuotedExcerpt(pair) + " is not of the form key=value", kRemedy);
    }
    const std::string key(Trim(std::string_view(pair).substr(0, equals)));
    // A repeated key is a mistake, not an override.
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return ErrorAt(source, place, "key " + QuotedExcerpt(key) + " occurs twice", "keep one");
    }
    seen.push_back(key);
    KILN_RETURN_IF_ERROR(
        SetKey(key, Split(std::string_view(pair).substr(equals + 1), ':'), source, place, &out));
  }
  return out;
}

StatusOr<Preprocess> LoadPreprocess(const std::filesystem::path& path, const Preprocess& base) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Load(path.string()));
  const YamlMap root = file.root();
  Preprocess out = base;
  // Keys that the file lacks keep the values of `base`.
  for (std::string_view key : {"resize", "interpolation", "crop", "scale", "layout", "channels"}) {
    std::string value;
    root.String(key, &value);
    if (value.empty()) continue;
    if (const Status status = SetKey(key, {value}, "", "", &out); !status.ok())
      root.FailValue(key, MessageOf(status), "");
  }
  for (std::string_view key : {"mean", "std"}) {
    std::vector<std::string> values;
    root.Strings(key, &values);
    if (values.empty()) continue;
    if (const Status status = SetKey(key, values, "", "", &out); !status.ok())
      root.FailValue(key, MessageOf(status), "");
  }
  KILN_RETURN_IF_ERROR(file.Finish());
  return out;
}

}  // namespace kiln
