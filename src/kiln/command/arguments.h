// Options that several commands share, declared once so that names, help and errors are the same
// everywhere.
//
// Each class holds the values of one group of options: Declare binds the options to its members,
// and Settings, Get or Options turn the parsed texts into the types that the flow (flow.h) takes.
#ifndef KILN_COMMAND_ARGUMENTS_H_
#define KILN_COMMAND_ARGUMENTS_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/flow/flow.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kiln::cli {

// The option --shape: sizes of symbolic dimensions, and shapes of inputs.
class ShapeArguments {
 public:
  void Declare(CLI::App& app);
  // Returns the shapes by name.
  //   errors  text of a form other than NAME=128 or NAME=1x128; a name given twice
  StatusOr<Shapes> Get() const;

 private:
  std::vector<std::string> texts_;
};

// The options --data, --labels, --data-format, --data-shape, --preprocess and --random.
class DataArguments {
 public:
  void Declare(CLI::App& app);
  // Returns whether images are named.
  bool given() const { return !path_.empty() || random_ > 0; }
  // Checks that no option describes how to read a file of images if no --data names one. Commands
  // skip this check if --calibrate names a file, because it is read in the same way.
  Status CheckFileToRead() const;
  // Returns the settings. Errors: options that contradict each other, an unknown data format.
  StatusOr<ImageSettings> Settings() const;

 private:
  std::string path_, labels_, shape_, preprocess_;
  std::string format_ = "auto";
  int64_t random_ = 0;
};

// The options --calibrate and --calibration-images.
class CalibrationArguments {
 public:
  void Declare(CLI::App& app);
  // Returns the number of calibration images; 0 if the option is not given.
  int64_t images() const { return images_; }
  // Returns the settings of the calibration images, with format and preprocessing as in `data`. The
  // path is empty if --calibrate is not given.
  ImageSettings Settings(const ImageSettings& data) const;

 private:
  std::string calibrate_;
  int64_t images_ = 0;
};

// The option --quantise and those of calibration.
class QuantiseArguments : public CalibrationArguments {
 public:
  // Declares all. `default_meaning` completes the help: what happens without --quantise.
  void Declare(CLI::App& app, const std::string& default_meaning);
  using CalibrationArguments::Declare;                   // declares calibration only
  const std::string& recipe() const { return recipe_; }  // empty if the option is not given
  bool recipe_given() const;

 private:
  const CLI::Option* option_ = nullptr;
  std::string recipe_;
};

// The options behind FlowOptions, except for `evaluate`: the model, --on, --no-host, --optimise,
// and those of data and quantisation.
class FlowArguments {
 public:
  // How the command describes --on, and which options it has.
  struct Wording {
    std::string accelerator = "The accelerator: a YAML file or a name (kiln list accelerators)";
    bool has_accelerator = true;  // false: the command declares --on itself
    bool accelerator_required = true;
    bool has_recipe = true;      // false: only the options of calibration, without --quantise
    bool has_objective = false;  // whether --optimise is an option
  };
  void Declare(CLI::App& app, const Wording& wording);
  bool images_given() const { return data_.given(); }
  // Returns an error if no images are named. It states what the network takes (the model is read
  // for this) and how to name the data.
  Status CheckImagesGiven() const;
  // Returns the options. If no images are named, `images` is empty.
  StatusOr<FlowOptions> Options() const;

 private:
  std::string model_, accelerator_;
  std::string objective_ = "cycles";
  bool no_host_ = false;
  ShapeArguments shapes_;
  DataArguments data_;
  QuantiseArguments quantise_;
};

// Returns the error of a command that needs data and has none. It states what the network takes and
// how to name the data (NoData).
Status NoDataFor(const std::filesystem::path& model, const Shapes& shapes, bool labels = false);

// Declares --top-k: accuracy also counts labels among the k highest scores.
void DeclareTopK(CLI::App& app, int* k);
// Declares --confusion: accuracy also counts which class each label is taken for.
void DeclareConfusion(CLI::App& app, bool* confusion);
// Declares --top: the number of kernels in a printed table.
void DeclareTop(CLI::App& app, int* kernels);
// Declares --memory, which ParseOuterMemory parses.
void DeclareMemory(CLI::App& app, std::string* memory);
// Declares --node-nm: the CMOS node of reported areas and energies, in nanometres.
void DeclareNode(CLI::App& app, int* node_nm);

// Parses a shape such as "3x32x32", of 1 to 8 dimensions of at least 1.
//   errors  any other text; the message names the option
StatusOr<Shape> ParseShape(const std::string& text, std::string_view option);

}  // namespace kiln::cli

#endif  // KILN_COMMAND_ARGUMENTS_H_
