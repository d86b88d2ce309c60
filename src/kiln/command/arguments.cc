// Declares the shared options and turns their texts into settings.
#include "kiln/command/arguments.h"

#include <CLI/App.hpp>
#include <charconv>

#include "fmt/format.h"
#include "kiln/command/checks.h"
#include "kiln/hardware/technology.h"

namespace kiln::cli {

void ShapeArguments::Declare(CLI::App& app) {
  app.add_option("--shape", texts_,
                 "The size of a symbolic dimension, or an input's whole shape as in INPUT=1x128; "
                 "once for each")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
}

StatusOr<Shapes> ShapeArguments::Get() const {
  Shapes shapes;
  for (const std::string& text : texts_) {
    // Names of inputs may contain '=', sizes may not, so the last one separates them.
    const size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0) {
      return ErrorAt("", "--shape", fmt::format("'{}' names no size", text),
                     "write NAME=128 or INPUT=1x128");
    }
    auto shape = ParseShape(text.substr(at + 1), "--shape");
    if (!shape.ok()) {
      return ErrorAt("", "--shape", fmt::format("'{}' is no size", text.substr(at + 1)),
                     "write NAME=128 or INPUT=1x128");
    }
    const std::string name = text.substr(0, at);
    if (!shapes.emplace(name, *std::move(shape)).second) {
      return ErrorAt("", "--shape", fmt::format("'{}' is given twice", name), "give it once");
    }
  }
  return shapes;
}

Status NoDataFor(const std::filesystem::path& model, const Shapes& shapes, bool labels) {
  std::vector<std::string> notes;
  KILN_ASSIGN_OR_RETURN(const Graph network, LoadNetworkToRun(model, shapes, &notes));
  return NoData(network, labels);
}

void DataArguments::Declare(CLI::App& app) {
  const auto group = app.add_option_group("Data");
  group
      ->add_option(
          "--data", path_,
          "Images: IDX, CIFAR binary, .npy, .npz, JPEG, PNG, PGM, PPM or raw float32, or a folder "
          "of images, or of one folder of images for each class. Other or several inputs: .npz or "
          "a folder of .npy, arrays named as the inputs, first axis samples")
      ->type_name("FILE");
  group
      ->add_option("--labels", labels_,
                   "Labels: IDX, .npy, PGM or text with one a line; one for each image, or for "
                   "each pixel or token; "
                   "default: those beside the data")
      ->type_name("FILE");
  group->add_option("--data-format", format_, "What kind of file it is (kiln list data-formats)")
      ->type_name("NAME")
      ->capture_default_str();
  group
      ->add_option("--data-shape", shape_,
                   "Shape of one image in raw data; default: the network's input")
      ->type_name("CxHxW");
  group
      ->add_option(
          "--preprocess", preprocess_,
          "As in resize=256,crop=224,scale=1/255,mean=0.5:0.4:0.4,std=0.2:0.2:0.2, or a "
          "YAML file with these keys; also interpolation=bicubic, layout=hwc, channels=bgr "
          "(numbers may be expressions, as in mean=127.5/128); "
          "keys not named: what the model's metadata say, or nothing after none, as in "
          "none,scale=1/255")
      ->type_name("TEXT");
  group
      ->add_option(
          "--random", random_,
          "No data: so many made-up samples, for timing: noise, valid indices of tables, masks")
      ->type_name("N")
      ->check(InRange(0, 1000000));
}

Status DataArguments::CheckFileToRead() const {
  if (!path_.empty()) return OkStatus();
  const std::pair<const char*, bool> options[] = {{"--data-format", format_ != "auto"},
                                                  {"--data-shape", !shape_.empty()},
                                                  {"--preprocess", !preprocess_.empty()}};
  for (const auto& [option, given] : options) {
    if (given)
      return ErrorAt("", option, "there is no file of images to read", "name it with --data");
  }
  return OkStatus();
}

StatusOr<ImageSettings> DataArguments::Settings() const {
  ImageSettings settings;
  if (random_ > 0 && !path_.empty())
    return ErrorAt("", "--random", "is given beside --data", "give one of them");
  if (path_.empty() && !labels_.empty()) {
    return ErrorAt("", "--labels", "there are no images to label", "name them with --data");
  }
  settings.path = path_;
  settings.options.labels = labels_;
  settings.preprocess = preprocess_;
  settings.random = random_;
  const StatusOr<DataFormat> format = FindDataFormat(format_);
  if (!format.ok()) return ErrorAt("", "--data-format", MessageOf(format.status()), "");
  settings.options.format = *format;
  if (!shape_.empty()) {
    KILN_ASSIGN_OR_RETURN(settings.options.shape, ParseShape(shape_, "--data-shape"));
  }
  return settings;
}

void CalibrationArguments::Declare(CLI::App& app) {
  app.add_option("--calibrate", calibrate_, "Images to calibrate on; default: the first of --data")
      ->type_name("FILE");
  app.add_option("--calibration-images", images_, "How many of them; default: what the recipe says")
      ->type_name("N")
      ->check(InRange(1, int64_t{1} << 40));
}

ImageSettings CalibrationArguments::Settings(const ImageSettings& data) const {
  ImageSettings settings;
  settings.path = calibrate_;
  settings.options.format = data.options.format;
  settings.options.shape = data.options.shape;
  settings.preprocess = data.preprocess;
  return settings;
}

void QuantiseArguments::Declare(CLI::App& app, const std::string& default_meaning) {
  const auto group = app.add_option_group("Quantisation");
  option_ = group
                ->add_option("--quantise,--quantize", recipe_,
                             "A recipe by name (kiln list recipes), a type for everything (mxint8, "
                             "posit8_1, bf16/nf4) "
                             "or a YAML file. Default: " +
                                 default_meaning)
                ->type_name("RECIPE");
  CalibrationArguments::Declare(*group);
}

bool QuantiseArguments::recipe_given() const { return option_ != nullptr && option_->count() > 0; }

void FlowArguments::Declare(CLI::App& app, const Wording& wording) {
  app.add_option("model", model_, "The network: ONNX or IR text")->required()->type_name("MODEL");
  if (wording.has_accelerator) {
    app.add_option("--on", accelerator_, wording.accelerator)
        ->required(wording.accelerator_required)
        ->type_name("ACCELERATOR");
  }
  app.add_flag("--no-host", no_host_, "Fail where a kernel would run on the host");
  if (wording.has_objective) {
    app.add_option("--optimise,--optimize", objective_,
                   "What schedules minimise: cycles, energy, edp (energy times cycles) or traffic "
                   "(bytes to and from memory)")
        ->type_name("WHAT")
        ->capture_default_str();
  }
  shapes_.Declare(app);
  data_.Declare(app);
  if (wording.has_recipe) {
    quantise_.Declare(
        app,
        "the accelerator's own formats; in a network that brings its own quantisation, that alone");
  } else {
    quantise_.Declare(app);
  }
}

Status FlowArguments::CheckImagesGiven() const {
  if (data_.given()) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const Shapes shapes, shapes_.Get());
  return NoDataFor(model_, shapes);
}

StatusOr<FlowOptions> FlowArguments::Options() const {
  FlowOptions options;
  options.model = model_;
  options.accelerator = accelerator_;
  KILN_ASSIGN_OR_RETURN(options.shapes, shapes_.Get());
  KILN_ASSIGN_OR_RETURN(options.images, data_.Settings());
  options.recipe = quantise_.recipe();
  options.recipe_given = quantise_.recipe_given();
  options.calibration = quantise_.Settings(options.images);
  // Options about reading files also apply to the file of --calibrate.
  if (!options.calibration.given()) KILN_RETURN_IF_ERROR(data_.CheckFileToRead());
  options.calibration_images = quantise_.images();
  options.compile.host_fallback = !no_host_;
  const StatusOr<Objective> objective = FindObjective(objective_);
  if (!objective.ok()) return ErrorAt("", "--optimise", MessageOf(objective.status()), "");
  options.compile.objective = *objective;
  return options;
}

void DeclareTopK(CLI::App& app, int* k) {
  app.add_option("--top-k", *k, "Accuracy also counts labels among the K highest scores")
      ->type_name("K")
      ->check(InRange(1, 1 << 20))
      ->capture_default_str();
}

void DeclareConfusion(CLI::App& app, bool* confusion) {
  app.add_flag("--confusion", *confusion,
               "Accuracy also counts which class each label is taken for");
}

void DeclareTop(CLI::App& app, int* kernels) {
  app.add_option("--top", *kernels, "Kernels in the printed table")
      ->type_name("N")
      ->check(InRange(0, 100000))
      ->capture_default_str();
}

void DeclareMemory(CLI::App& app, std::string* memory) {
  app.add_option("--memory", *memory,
                 "Bandwidth and latency of the memory that all ports share, or that streams are "
                 "read from and stored in, and the time that a row miss adds, such as "
                 "19.2GB/s,100ns; the run simulates it at the design point's clock, and schedules "
                 "take the bandwidth into account (`kiln verify --dram` counts in bytes per cycle, "
                 "--memory-latency in cycles)")
      ->type_name("GB/s,ns[,ns]");
}

void DeclareNode(CLI::App& app, int* node_nm) {
  app.add_option("--node-nm", *node_nm, "CMOS node of the areas and energies in the report")
      ->check(CLI::IsMember(hardware::TechnologyNodes()).description(""))
      ->type_name("NM")
      ->capture_default_str();
}

StatusOr<Shape> ParseShape(const std::string& text, std::string_view option) {
  std::vector<int64_t> dims;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int64_t value = 0;
    const auto [stop, fault] = std::from_chars(at, end, value);
    if (fault != std::errc() || value < 1 || dims.size() >= 8) break;
    dims.push_back(value);
    if (stop == end) return Shape(std::move(dims));
    if (*stop != 'x') break;
    at = stop + 1;
  }
  return ErrorAt("", option, "'" + text + "' is no shape", "write it as 3x32x32");
}

}  // namespace kiln::cli
