// Implements ImageConverter: decides how stored images fit a network's input, and converts them
// element by element.
#include "kiln/frontend/data_convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kiln/ir/unit_axes.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

// Returns the shape of a stored image with its channels first.
Shape ChannelsFirst(const Shape& shape, ImageLayout layout) {
  if (layout == ImageLayout::kChw || shape.rank() != 3) return shape;
  return Shape{shape[2], shape[0], shape[1]};
}

// Returns true if stored images (channels first) fit an input: equal dimensions up to dimensions of
// 1, or as many elements for a flat vector.
bool Fits(const Shape& stored, const Shape& wanted) {
  if (WithoutOnes(stored.dims()) == WithoutOnes(wanted.dims())) return true;
  return wanted.rank() == 1 && stored.NumElements() == wanted.NumElements();
}

// Returns the height and width of an image of rank 2 or 3, channels first.
ImageSize SizeOfImage(const Shape& shape) {
  return {shape[shape.rank() - 2], shape[shape.rank() - 1]};
}

// Returns the shape (channels first) that a stored image has after resize and crop. Errors: an
// image that cannot be resized or cropped; a resized image beyond the budget.
StatusOr<Shape> ShapeAfter(const Preprocess& preprocess, const std::string& name,
                           ElementType element, const Shape& stored) {
  if (!preprocess.resize.has_value() && !preprocess.crop.has_value()) return stored;
  if (stored.rank() != 2 && stored.rank() != 3) {
    return ErrorAt(name, "",
                   fmt::format("samples of {} are not images that resize or crop could change",
                               stored.ToString()),
                   "leave both out of --preprocess, or store height, width and channels");
  }
  if (preprocess.resize.has_value() && element != ElementType::kUint8) {
    return ErrorAt(name, "",
                   fmt::format("resize takes images of uint8; these are {}", NameOf(element)),
                   "store them as uint8, or resize them before");
  }
  const ImageSize resized = preprocess.ResizedSize(SizeOfImage(stored));
  // Rows are filtered first: between the passes an image has its old height and its new width. The
  // size of images of a folder is unknown before they are read.
  const int64_t height = std::max(resized.height, SizeOfImage(stored).height);
  if (resized.height > 0 && height > budgets::kImagePixels / resized.width) {
    return ErrorAt(
        name, "", fmt::format("resize would make images of {}x{} pixels", height, resized.width),
        fmt::format("at most {} pixels, also between rows and columns", budgets::kImagePixels));
  }
  const ImageSize to = preprocess.ResultSize(SizeOfImage(stored));
  return stored.rank() == 2 ? Shape{to.height, to.width} : Shape{stored[0], to.height, to.width};
}

// Calls f with a function that reads element i of `bytes` as a float.
template <typename F>
void WithReader(ElementType type, const std::byte* bytes, F&& f) {
  const auto reader = [&](auto zero) {
    using T = decltype(zero);
    return [bytes](int64_t i) {  // the bytes need not be aligned
      T value;
      std::memcpy(&value, bytes + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      return static_cast<float>(value);
    };
  };
  switch (type) {
    case ElementType::kUint8:
    case ElementType::kBool:
      return f(reader(uint8_t{}));
    case ElementType::kInt8:
      return f(reader(int8_t{}));
    case ElementType::kUint16:
      return f(reader(uint16_t{}));
    case ElementType::kInt16:
      return f(reader(int16_t{}));
    case ElementType::kUint32:
      return f(reader(uint32_t{}));
    case ElementType::kInt32:
      return f(reader(int32_t{}));
    case ElementType::kUint64:
      return f(reader(uint64_t{}));
    case ElementType::kInt64:
      return f(reader(int64_t{}));
    case ElementType::kFloat32:
      return f(reader(float{}));
    case ElementType::kFloat64:
      return f(reader(double{}));
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return f([bytes, type](int64_t i) {
        uint16_t bits = 0;
        std::memcpy(&bits, bytes + i * 2, 2);
        return type == ElementType::kFloat16 ? HalfToFloat(bits) : Bfloat16ToFloat(bits);
      });
    case ElementType::kString:
      KILN_CHECK(false);
  }
}

}  // namespace

// Checks once what does not depend on single files of a folder.
StatusOr<ImageConverter> ImageConverter::Create(const DataSet* set, Preprocess preprocess,
                                                const Value& input, std::string_view model_source) {
  const std::string place = "input " + QuotedExcerpt(input.name());
  if (input.element() != ElementType::kFloat32) {
    return UnsupportedAt(model_source, place, "is of type " + std::string(NameOf(input.element())),
                         "images are turned into f32 inputs only");
  }
  if (!input.has_shape() || input.shape().rank() < 2) {
    return UnsupportedAt(
        model_source, place,
        "has shape " + (input.has_shape() ? input.shape().ToString() : std::string("unknown")),
        "an image input has a batch dimension and at least one more");
  }
  // The network's shape without the batch.
  const Shape wanted(
      std::vector<int64_t>(input.shape().dims().begin() + 1, input.shape().dims().end()));
  if (!wanted.IsKnown()) {
    return UnsupportedAt(model_source, place, "has shape " + input.shape().ToString(),
                         "all dimensions but the batch must be known");
  }
  ImageConverter converter;
  converter.set_ = set;
  converter.input_ = fmt::format("{} of {}", place, model_source);
  converter.batch_shape_ = input.shape();
  converter.wanted_ = wanted;
  converter.layout_ = preprocess.layout.value_or(set->layout());
  converter.preprocess_ = std::move(preprocess);
  const Preprocess& p = converter.preprocess_;
  const Shape stored = ChannelsFirst(set->image_shape(), converter.layout_);
  if (set->is_folder()) {
    if (converter.layout_ != ImageLayout::kHwc) {
      return ErrorAt(set->source(), "", "layout=chw, but image files store pixel after pixel",
                     "leave layout out of --preprocess");
    }
    // Where resize or crop decides the size, it can be checked without reading a file.
    if (p.crop.has_value() || (p.resize.has_value() && p.resize->width != 0))
      KILN_RETURN_IF_ERROR(converter.FittingShape(set->source(), set->image_shape()).status());
  } else {
    KILN_RETURN_IF_ERROR(converter.FittingShape(set->source(), set->image_shape()).status());
  }
  converter.channels_ = stored.rank() >= 3 ? stored[0] : 1;
  if (wanted.NumElements() % converter.channels_ != 0) {
    return ErrorAt(set->source(), "",
                   fmt::format("images of {} channels do not fit {}, which takes {}",
                               converter.channels_, converter.input_, wanted.ToString()),
                   "choose images of as many channels");
  }
  converter.pixels_ = wanted.NumElements() / converter.channels_;
  converter.channels_last_ = converter.layout_ == ImageLayout::kHwc && stored.rank() == 3;
  const auto per_channel = [&](std::vector<float> values,
                               float absent) -> StatusOr<std::vector<float>> {
    const auto channels = static_cast<size_t>(converter.channels_);
    if (values.size() > 1 && values.size() != channels) {
      return ErrorAt(set->source(), "",
                     fmt::format("images of {} channels, but {} values of mean or std", channels,
                                 values.size()),
                     "give one, or one per channel, with --preprocess");
    }
    if (values.size() != channels)
      values.assign(channels, values.empty() ? absent : values.front());
    return values;
  };
  KILN_ASSIGN_OR_RETURN(converter.mean_, per_channel(p.mean, 0.0f));
  KILN_ASSIGN_OR_RETURN(converter.std_, per_channel(p.std, 1.0f));
  if (p.reverse_channels && converter.channels_ != 3) {
    return ErrorAt(
        set->source(), "",
        fmt::format("channels=bgr, but images of {} channels", converter.channels_),
        "only images of 3 channels have an order of colours; leave channels out of --preprocess");
  }
  // A uint8 image has only 256 values per channel, so preprocessing becomes a table look-up with
  // the same bits.
  if (set->element() == ElementType::kUint8) {
    converter.table_of_bytes_.resize(static_cast<size_t>(converter.channels_) * 256);
    for (size_t at = 0; at < converter.table_of_bytes_.size(); ++at) {
      const float x = static_cast<float>(at % 256);
      converter.table_of_bytes_[at] =
          (x * p.multiply / p.divide - converter.mean_[at / 256]) / converter.std_[at / 256];
    }
  }
  return converter;
}

StatusOr<Shape> ImageConverter::FittingShape(const std::string& name, const Shape& image) const {
  const Shape stored = ChannelsFirst(image, layout_);
  KILN_ASSIGN_OR_RETURN(Shape shape, ShapeAfter(preprocess_, name, set_->element(), stored));
  if (Fits(shape, wanted_)) return shape;
  // If the other layout would fit, the message suggests it.
  const ImageLayout other = layout_ == ImageLayout::kChw ? ImageLayout::kHwc : ImageLayout::kChw;
  const StatusOr<Shape> turned =
      ShapeAfter(preprocess_, name, set_->element(), ChannelsFirst(image, other));
  const bool changes = preprocess_.resize.has_value() || preprocess_.crop.has_value();
  const bool resizable = set_->element() == ElementType::kUint8 && stored.rank() >= 2;
  return ErrorAt(
      name, "",
      fmt::format("images of {} ({}){} do not fit {}, which takes {}", image.ToString(),
                  kiln::NameOf(layout_),
                  changes ? fmt::format(", {} after resize and crop,", shape.ToString()) : "",
                  input_, wanted_.ToString()),
      turned.ok() && Fits(*turned, wanted_)
          ? fmt::format("if that is their order, say layout={} in --preprocess",
                        kiln::NameOf(other))
      : resizable ? "choose data of that shape, or name resize and crop in --preprocess"
                  : "choose data of that shape");
}

std::vector<std::byte> ImageConverter::ResizeAndCrop(std::span<const std::byte> image,
                                                     ImageSize stored) const {
  const ImageSize resized = preprocess_.ResizedSize(stored);
  const ImageSize result = preprocess_.ResultSize(stored);
  // Each colour is an image of its own if channels are stored first.
  const int64_t planes = channels_last_ ? 1 : channels_;
  const int64_t samples = channels_ / planes;  // of a pixel
  const size_t plane_bytes = image.size() / static_cast<size_t>(planes);
  std::vector<std::byte> out;
  for (int64_t plane = 0; plane < planes; ++plane) {
    std::span<const std::byte> pixels =
        image.subspan(static_cast<size_t>(plane) * plane_bytes, plane_bytes);
    std::vector<std::byte> changed;
    if (preprocess_.resize.has_value()) {
      changed = ResizeImage(pixels, stored, resized, samples, preprocess_.interpolation);
      pixels = changed;
    }
    if (preprocess_.crop.has_value())
      changed = CropCentre(pixels, resized, result, samples * SizeOf(set_->element()));
    out.insert(out.end(), changed.begin(), changed.end());
  }
  return out;
}

Status ImageConverter::Convert(int64_t i, std::span<float> out) const {
  KILN_CHECK(static_cast<int64_t>(out.size()) == elements_per_image());
  KILN_ASSIGN_OR_RETURN(const StoredImage loaded, set_->Load(i));
  if (set_->is_folder()) KILN_RETURN_IF_ERROR(FittingShape(set_->NameOf(i), loaded.shape).status());
  std::span<const std::byte> image = loaded.bytes;
  std::vector<std::byte> changed;
  if (preprocess_.resize.has_value() || preprocess_.crop.has_value())
    image = changed = ResizeAndCrop(image, SizeOfImage(ChannelsFirst(loaded.shape, layout_)));
  // Strides of the stored image; the result is channels first.
  const int64_t channel_stride = channels_last_ ? 1 : pixels_;
  const int64_t pixel_stride = channels_last_ ? channels_ : 1;
  for (int64_t c = 0; c < channels_; ++c) {
    float* to = out.data() + c * pixels_;
    // mean_ and std_ are in the network's channel order, so only the stored channel is reversed.
    const int64_t stored = preprocess_.reverse_channels ? channels_ - 1 - c : c;
    if (!table_of_bytes_.empty()) {
      const float* table = table_of_bytes_.data() + c * 256;
      const std::byte* from = image.data() + stored * channel_stride;
      for (int64_t p = 0; p < pixels_; ++p)
        to[p] = table[std::to_integer<uint8_t>(from[p * pixel_stride])];
      continue;
    }
    const float multiply = preprocess_.multiply, divide = preprocess_.divide;
    const float mean = mean_[static_cast<size_t>(c)], deviation = std_[static_cast<size_t>(c)];
    WithReader(set_->element(), image.data(), [&](auto&& at) {
      for (int64_t p = 0; p < pixels_; ++p) {
        to[p] =
            (at(stored * channel_stride + p * pixel_stride) * multiply / divide - mean) / deviation;
      }
    });
  }
  return OkStatus();
}

StatusOr<Tensor> ImageConverter::MakeBatch(int64_t first, int64_t count) const {
  KILN_CHECK(first >= 0 && count >= 0 && first + count <= set_->size());
  Shape shape = batch_shape_;
  shape[0] = count;
  Tensor batch(ElementType::kFloat32, shape);
  const std::span<float> all = batch.data<float>();
  const auto elements = static_cast<size_t>(elements_per_image());
  // An image that is decoded or resized takes longer than the start of a thread's next piece.
  const bool long_work = set_->is_folder() || preprocess_.resize.has_value();
  std::vector<Status> statuses(static_cast<size_t>(count));
  ParallelFor(count, long_work ? 1 : 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      statuses[static_cast<size_t>(i)] =
          Convert(first + i, all.subspan(static_cast<size_t>(i) * elements, elements));
    }
  });
  for (const Status& status : statuses) KILN_RETURN_IF_ERROR(status);
  return batch;
}

}  // namespace kiln
