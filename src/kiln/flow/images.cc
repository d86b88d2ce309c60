// Opens data sets: made-up samples, named arrays for several inputs, or one file of images.
#include "kiln/flow/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "kiln/frontend/data_named.h"
#include "kiln/frontend/random_samples.h"
#include "kiln/report/text.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr char kNoise[] = "random noise";

// Returns the preprocessing in the model's metadata; the identity if there is none.
StatusOr<Preprocess> PreprocessOf(const Graph& network) {
  const auto found = network.metadata().find(std::string(kPreprocessMetadataKey));
  if (found == network.metadata().end()) return Preprocess{};
  return ParsePreprocess(found->second, network.source(),
                         fmt::format("metadata '{}'", kPreprocessMetadataKey));
}

// Returns whether `text`, as given to --preprocess, says that the metadata do not count.
bool IgnoresMetadata(const std::string& text) {
  return text == "none" || text.starts_with("none,");
}

// Parses `text` as given to --preprocess: text, or the path of a file. Keys that it does not name
// are taken from `own`.
StatusOr<Preprocess> ReadPreprocess(const std::string& text, const Preprocess& own) {
  const bool is_text = IgnoresMetadata(text) || text.find('=') != std::string::npos;
  return is_text ? ParsePreprocess(text, "", "--preprocess", own) : LoadPreprocess(text, own);
}

// The preprocessing to use.
struct ChosenPreprocess {
  Preprocess all;
  std::string own;  // the model's, if it contributes to `all` beside --preprocess
};

// Combines --preprocess with the model's metadata.
StatusOr<ChosenPreprocess> ChoosePreprocess(const std::string& text, const Graph& network) {
  ChosenPreprocess chosen;
  // The metadata are ignored, even if they are malformed.
  if (IgnoresMetadata(text)) {
    KILN_ASSIGN_OR_RETURN(chosen.all, ReadPreprocess(text, {}));
    return chosen;
  }
  KILN_ASSIGN_OR_RETURN(const Preprocess own, PreprocessOf(network));
  chosen.all = own;
  if (text.empty()) return chosen;
  KILN_ASSIGN_OR_RETURN(chosen.all, ReadPreprocess(text, own));
  // If the metadata make a difference, they contribute keys that the text does not name.
  KILN_ASSIGN_OR_RETURN(const Preprocess alone, ReadPreprocess(text, {}));
  if (!(chosen.all == alone)) chosen.own = own.ToString();
  return chosen;
}

// Returns whether the network takes images: a single fp32 input with a batch axis and at least one
// more axis.
bool TakesImages(const Graph& network) {
  if (network.inputs().size() != 1) return false;
  const Value& input = *network.inputs()[0];
  // Samples of an input of fixed size, such as 77x768, are added in front of its shape.
  return input.element() == ElementType::kFloat32 && input.has_shape() &&
         input.shape().rank() >= 2 && input.shape()[0] <= 1;
}

// Returns the inputs' names and shapes, separated by commas.
std::string DescribeInputs(const Graph& network) {
  std::string out;
  for (const Value* input : network.inputs())
    out += (out.empty() ? "" : ", ") + DescribeInput(*input);
  return out;
}

// Returns the channels with which the first image has the elements of a flat input, 1 or 3; 0 if
// neither fits, and for data that are not pictures. Errors: a picture that cannot be read.
StatusOr<int64_t> ChannelsOfFlat(const DataSet& set, const Preprocess& preprocess,
                                 int64_t elements) {
  if (!set.is_folder() && set.format() != DataFormat::kJpeg && set.format() != DataFormat::kPng)
    return 0;
  KILN_ASSIGN_OR_RETURN(const StoredImage first, set.Load(0));
  const ImageSize size = preprocess.ResultSize({.height = first.shape[0], .width = first.shape[1]});
  const int64_t pixels = size.height * size.width;
  return elements == pixels ? 1 : elements == 3 * pixels ? 3 : 0;
}

// Makes `count` random samples for each input.
StatusOr<Images> OpenRandom(const Graph& network, int64_t count) {
  // The samples suit the network: noise for images, valid indices for tables, masks for attention.
  KILN_ASSIGN_OR_RETURN(std::vector<DataSet> sets, RandomSamples(network, count));
  Images images;
  for (size_t i = 0; i < sets.size(); ++i) {
    auto set = std::make_shared<const DataSet>(std::move(sets[i]));
    KILN_ASSIGN_OR_RETURN(InputReader reader,
                          InputReader::OfValues(set, *network.inputs()[i], network.source()));
    if (i == 0) images.set = set;
    images.readers.push_back(std::move(reader));
  }
  if (images.set == nullptr)
    return UnsupportedAt(network.source(), "", "the network has no inputs", "");
  images.preprocess = "none";
  images.source = kNoise;
  return images;
}

// Returns the index of each input's array. One error lists all arrays that are missing.
StatusOr<std::vector<size_t>> FindArrays(const NamedArrays& arrays, const fs::path& path,
                                         const Graph& network) {
  std::vector<size_t> found;
  std::string missing;
  for (const Value* input : network.inputs()) {
    if (const auto at = arrays.Find(input->name())) {
      found.push_back(*at);
    } else {
      missing += (missing.empty() ? "" : ", ") + DescribeInput(*input);
    }
  }
  if (missing.empty()) return found;
  std::string there;
  constexpr size_t kNamed = 12;  // arrays listed by name; further ones are only counted
  for (size_t i = 0; i < std::min(kNamed, arrays.names().size()); ++i)
    there += (i ? ", " : "") + arrays.names()[i];
  if (arrays.names().size() > kNamed)
    there += fmt::format(" and {} more", arrays.names().size() - kNamed);
  return ErrorAt(path.string(), "",
                 fmt::format("holds no array for {}, input of {}", missing, network.source()),
                 fmt::format("name arrays as the inputs, first axis samples; there are {}", there));
}

// Returns the array of labels beside those of the inputs, if there is one.
std::optional<size_t> FindLabels(const NamedArrays& arrays, const std::vector<size_t>& inputs) {
  for (const char* name : {"labels", "y"}) {
    const std::optional<size_t> found = arrays.Find(name);
    if (found.has_value() && std::find(inputs.begin(), inputs.end(), *found) == inputs.end())
      return found;
  }
  return std::nullopt;
}

// Checks that no option contradicts an archive or folder of named arrays.
Status CheckNamedOptions(const ImageSettings& settings, bool is_folder) {
  const DataFormat wanted = is_folder ? DataFormat::kNpy : DataFormat::kNpz;
  if (settings.options.format != DataFormat::kAuto && settings.options.format != wanted) {
    return ErrorAt(settings.path.string(), "--data-format",
                   is_folder ? "the folder is read as .npy files" : "the file is an .npz archive",
                   "leave it out");
  }
  if (settings.options.shape.has_value()) {
    return ErrorAt(settings.path.string(), "--data-shape", "arrays say their shapes themselves",
                   "leave it out");
  }
  return OkStatus();
}

// Opens one array per input from an archive or a folder, with labels if there are any.
StatusOr<Images> OpenNamed(const ImageSettings& settings, const NamedArrays& arrays,
                           const Graph& network, const Preprocess& preprocess) {
  KILN_RETURN_IF_ERROR(CheckNamedOptions(settings, arrays.is_folder()));
  KILN_ASSIGN_OR_RETURN(const std::vector<size_t> at, FindArrays(arrays, settings.path, network));
  Images images;
  images.source = settings.path.string();
  bool any_image = false;
  std::optional<size_t> labels;
  for (size_t i = 0; i < at.size(); ++i) {
    const Value& input = *network.inputs()[i];
    KILN_ASSIGN_OR_RETURN(DataSet loaded, arrays.Read(at[i]));
    // Sample i of the network is sample i of every array.
    if (i > 0 && loaded.size() != images.set->size()) {
      return ErrorAt(loaded.source(), "",
                     fmt::format("holds {} where {} holds {}", Counted(loaded.size(), "sample"),
                                 images.set->source(), images.set->size()),
                     "as many samples of each input");
    }
    if (i == 0) {
      if (settings.options.labels.empty()) labels = FindLabels(arrays, at);
      if (!settings.options.labels.empty()) {
        KILN_ASSIGN_OR_RETURN(Labels own, LoadLabels(settings.options.labels));
        KILN_RETURN_IF_ERROR(loaded.SetLabels(std::move(own), settings.options.labels.string()));
      } else if (labels.has_value()) {
        // The labels were not requested, so an array of that name without valid labels is no error.
        StatusOr<Labels> own = arrays.ReadLabels(*labels);
        Status status = own.status();
        if (own.ok()) status = loaded.SetLabels(*std::move(own), arrays.Describe(*labels));
        if (!status.ok()) loaded.SetNoLabels(MessageOf(status));
      }
    }
    auto set = std::make_shared<const DataSet>(std::move(loaded));
    // Stored bytes for an fp32 input are pixels; they are preprocessed even if there are several
    // inputs.
    const bool is_pixels =
        input.element() == ElementType::kFloat32 && set->element() == ElementType::kUint8;
    const bool is_image = TakesImages(network) || is_pixels;
    any_image |= is_image;
    images.pixels_as_stored |= is_pixels && preprocess.KeepsValues();
    auto reader = is_image ? InputReader::OfImages(set, preprocess, input, network.source())
                           : InputReader::OfValues(set, input, network.source());
    if (!reader.ok()) return reader.status();
    if (i == 0) images.set = std::move(set);
    images.readers.push_back(*std::move(reader));
  }
  if (!any_image && !settings.preprocess.empty() && !preprocess.IsIdentity()) {
    return ErrorAt(settings.path.string(), "--preprocess",
                   fmt::format("none of the arrays for {} holds pixels (u8 for an f32 input)",
                               network.source()),
                   "leave it out, or store images as uint8");
  }
  // Arrays that nothing reads are probably misspelt inputs; a note lists them.
  std::string unread;
  for (size_t i = 0; i < arrays.names().size(); ++i) {
    const std::string& name = arrays.names()[i];
    if (std::find(at.begin(), at.end(), i) != at.end() || labels == i) continue;
    unread += (unread.empty() ? "" : ", ") + name;
  }
  if (!unread.empty()) {
    images.notes.push_back(
        fmt::format("arrays of {} that are no inputs of the network: {}", images.source, unread));
  }
  images.preprocess = any_image ? preprocess.ToString() : "none";
  return images;
}

// Opens a file with a single array, or a file of images, for a network with one input.
StatusOr<Images> OpenFile(const ImageSettings& settings, const Graph& network,
                          Preprocess preprocess) {
  if (network.inputs().size() != 1) {
    return ErrorAt(
        settings.path.string(), "",
        fmt::format("holds one array; {} takes {}", network.source(), DescribeInputs(network)),
        "name an .npz archive or a folder of .npy files, arrays named as the inputs");
  }
  const Value& input = *network.inputs()[0];
  // Raw data have no header; without --data-shape they have the shape of the input.
  DataOptions options = settings.options;
  if (input.has_shape() && input.shape().rank() >= 2) {
    options.default_shape =
        Shape(std::vector<int64_t>(input.shape().dims().begin() + 1, input.shape().dims().end()));
    // Images have the colours that the network takes.
    const Shape& wanted = *options.default_shape;
    if (wanted.rank() == 2) options.channels = 1;
    if (wanted.rank() == 3 && (wanted[0] == 1 || wanted[0] == 3)) options.channels = wanted[0];
  }
  KILN_ASSIGN_OR_RETURN(DataSet loaded, LoadDataSet(settings.path, options));
  if (TakesImages(network) && input.shape().rank() == 2) {
    KILN_ASSIGN_OR_RETURN(options.channels, ChannelsOfFlat(loaded, preprocess, input.shape()[1]));
    if (options.channels != 0) {
      KILN_ASSIGN_OR_RETURN(loaded, LoadDataSet(settings.path, options));
    }
  }
  if (settings.options.shape.has_value() && loaded.format() != DataFormat::kRaw &&
      (loaded.is_folder() ||
       settings.options.shape->NumElements() != loaded.image_shape().NumElements())) {
    return ErrorAt(
        settings.path.string(), "--data-shape",
        fmt::format("the file itself says that its images are {}", loaded.image_shape().ToString()),
        "it is for data without header (--data-format raw)");
  }
  auto set = std::make_shared<const DataSet>(std::move(loaded));
  Images images;
  images.set = set;
  images.source = set->source();
  if (TakesImages(network)) {
    images.pixels_as_stored = set->element() == ElementType::kUint8 && preprocess.KeepsValues();
    images.preprocess = preprocess.ToString();
    KILN_ASSIGN_OR_RETURN(InputReader reader, InputReader::OfImages(set, std::move(preprocess),
                                                                    input, network.source()));
    images.readers.push_back(std::move(reader));
    return images;
  }
  if (!settings.preprocess.empty() && !preprocess.IsIdentity()) {
    return ErrorAt("", "--preprocess",
                   fmt::format("{} takes {}, not images", network.source(), DescribeInput(input)),
                   "leave it out");
  }
  images.preprocess = "none";
  KILN_ASSIGN_OR_RETURN(InputReader reader, InputReader::OfValues(set, input, network.source()));
  images.readers.push_back(std::move(reader));
  return images;
}

}  // namespace

std::vector<fs::path> FilesOf(const ImageSettings& settings) {
  std::vector<fs::path> files = {settings.path, settings.options.labels, settings.preprocess};
  std::error_code error;
  if (settings.path.empty() || !fs::is_directory(settings.path, error)) return files;
  for (fs::directory_iterator at(settings.path, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".npy") files.push_back(at->path());
  }
  return files;
}

StatusOr<std::vector<Tensor>> Images::MakeBatch(int64_t first, int64_t count) const {
  std::vector<Tensor> inputs;
  inputs.reserve(readers.size());
  for (const InputReader& reader : readers) {
    KILN_ASSIGN_OR_RETURN(Tensor input, reader.MakeBatch(first, count));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Status NoData(const Graph& network, bool labels) {
  const std::string fault =
      fmt::format("no data is named; {} takes {}", network.source(), DescribeInputs(network));
  if (TakesImages(network)) {
    return ErrorAt(
        "", "--data", fault,
        labels ? "give --data FILE, with labels" : "give --data FILE, or --random N for noise");
  }
  const bool one = network.inputs().size() == 1;
  return ErrorAt(
      "", "--data", fault,
      fmt::format("give --data FILE.npz or a folder of .npy files, {}, first axis samples{}",
                  one ? "an array named as the input" : "arrays named as the inputs",
                  labels ? ", with labels" : ", or --random N for made-up values"));
}

StatusOr<Images> OpenImages(const ImageSettings& settings, const Graph& network) {
  if (!settings.given()) return NoData(network);
  if (network.inputs().empty())
    return UnsupportedAt(network.source(), "", "the network has no inputs", "");
  if (settings.path.empty()) return OpenRandom(network, settings.random);
  KILN_ASSIGN_OR_RETURN(ChosenPreprocess chosen, ChoosePreprocess(settings.preprocess, network));
  std::optional<NamedArrays> arrays;
  const bool of_images = settings.options.format == DataFormat::kImages ||
                         (TakesImages(network) && IsImageFolder(settings.path));
  if (!of_images && NamedArrays::IsNamed(settings.path)) {
    KILN_ASSIGN_OR_RETURN(NamedArrays opened, NamedArrays::Open(settings.path));
    arrays.emplace(std::move(opened));
    // An archive without the input's name is a file of images (array names as in data_formats.def).
    const bool named = arrays->is_folder() || network.inputs().size() > 1 ||
                       !TakesImages(network) ||
                       arrays->Find(network.inputs()[0]->name()).has_value();
    if (!named) arrays.reset();
  }
  auto opened = arrays.has_value() ? OpenNamed(settings, *arrays, network, chosen.all)
                                   : OpenFile(settings, network, std::move(chosen.all));
  if (!opened.ok()) return opened;
  opened->own_preprocess = std::move(chosen.own);
  opened->labels_named = !settings.options.labels.empty();
  return opened;
}

StatusOr<Preprocess> StatedPreprocess(const ImageSettings& settings, const Graph& network) {
  KILN_ASSIGN_OR_RETURN(ChosenPreprocess chosen, ChoosePreprocess(settings.preprocess, network));
  return std::move(chosen.all);
}

void NotePreprocess(const ImageSettings& settings, const Graph& network, const Images& images,
                    std::vector<std::string>* notes) {
  notes->insert(notes->end(), images.notes.begin(), images.notes.end());
  if (!images.own_preprocess.empty()) {
    notes->push_back(
        fmt::format("what --preprocess does not name is the model's own, {}: images go in by {}; "
                    "'none,' before it leaves that out",
                    images.own_preprocess, images.preprocess));
  }
  if (settings.path.empty() || !images.pixels_as_stored) return;
  // Said on purpose: by --preprocess none, or by metadata.
  if (IgnoresMetadata(settings.preprocess) ||
      network.metadata().contains(std::string(kPreprocessMetadataKey)))
    return;
  notes->push_back(
      settings.preprocess.empty()
          ? "pixels go in as they are stored, 0 to 255: the model's metadata name no "
            "preprocessing; --preprocess names it, or none"
          : "pixels go in as they are stored, 0 to 255: --preprocess names no scale, mean or std; "
            "'none,' before it says that none is meant");
}

}  // namespace kiln
